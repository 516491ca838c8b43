// What NiceGUI's code editor lacks for KSQL: our highlighting, completion asked of the server, what is run, the URL.
// The file is one function; editor.py calls it with the element's id and what it has to know.
async (id, given) => {
  const CM = await import("nicegui-codemirror");
  while (!getElement(id)) await new Promise((resolve) => setTimeout(resolve, 20));
  const component = getElement(id);
  await component.editorPromise;
  if (component.isKsql) return; // a connection that came back finds it as it was
  component.isKsql = true;
  const view = component.editor;
  const keywords = new Set(given.keywords);
  const types = new Set(given.types);

  // ---------------------------------------------------------------- highlighting
  const language = CM.StreamLanguage.define({
    name: "ksql",
    startState: () => ({ comment: false }),
    token(stream, state) {
      if (state.comment) {
        state.comment = !stream.match(/^.*?\*\//);
        if (state.comment) stream.skipToEnd();
        return "comment";
      }
      if (stream.eatSpace()) return null;
      if (stream.match("--")) {
        stream.skipToEnd();
        return "comment";
      }
      if (stream.match("/*")) {
        state.comment = !stream.match(/^.*?\*\//);
        if (state.comment) stream.skipToEnd();
        return "comment";
      }
      if (stream.match(/^'(?:[^']|'')*'?/)) return "string";
      if (stream.match(/^`(?:[^`]|``)*`?/)) return "variableName";
      if (stream.match(/^[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?/)) return "number";
      if (stream.match(/^\$\{[A-Za-z_][A-Za-z0-9_@]*\}/)) return "atom";
      const word = stream.match(/^[A-Za-z_][A-Za-z0-9_@]*/);
      if (word) {
        const upper = word[0].toUpperCase();
        if (keywords.has(upper)) return "keyword";
        if (types.has(upper)) return "typeName";
        if (stream.match(/^\s*\(/, false)) return "className";
        return "variableName";
      }
      stream.next();
      return "operator";
    },
    languageData: {
      commentTokens: { line: "--", block: { open: "/*", close: "*/" } },
      closeBrackets: { brackets: ["(", "[", "'", "`"] },
      autocomplete: complete,
    },
  });
  // The tags themselves are not exported; the default style names them all.
  const tags = {};
  for (const spec of CM.defaultHighlightStyle.specs) {
    for (const tag of [spec.tag].flat()) if (!tag.base) tags[tag.name] ??= tag;
  }
  const classes = { keyword: "keyword", comment: "comment", string: "string", literal: "number", atom: "atom",
    typeName: "type", className: "function" };
  const styles = Object.entries(classes).filter(([name]) => tags[name]).map(([name, cls]) => ({ tag: tags[name], class: `kq-${cls}` }));

  // ---------------------------------------------------------------- completion
  const waiting = new Map();
  let turn = 0;
  function complete(context) {
    const mine = ++turn;
    const text = context.state.doc.toString();
    // Python counts characters, the browser UTF-16 units.
    const cursor = [...text.slice(0, context.pos)].length;
    return new Promise((resolve) => {
      for (const [older, forget] of waiting) {
        waiting.delete(older);
        forget(null);
      }
      waiting.set(mine, (found) => resolve(found && { ...found, from: context.pos - found.back }));
      component.$emit("complete", { turn: mine, text, cursor, asked: context.explicit });
    });
  }
  const icons = { stream: "class", table: "interface", column: "property", topic: "constant", query: "namespace", value: "enum",
    property: "property", function: "function", keyword: "keyword", type: "type" };

  // ---------------------------------------------------------------- running
  const ask = (whole) => {
    const { from, to } = view.state.selection.main;
    const characters = (offset) => [...view.state.sliceDoc(0, offset)].length;
    component.$emit("run", { text: view.state.doc.toString(), from: characters(from), to: characters(to), whole });
    return true;
  };
  let later = 0;
  const remember = CM.EditorView.updateListener.of((update) => {
    if (!update.docChanged) return;
    clearTimeout(later);
    later = setTimeout(() => {
      const text = update.view.state.doc.toString();
      window.caudal.setQuery({ sql: text.trim() && text.length <= given.longest ? text : null });
    }, 300);
  });

  view.dispatch({
    effects: [
      component.themeConfig.reconfigure([]),
      component.languageConfig.reconfigure([language, CM.syntaxHighlighting(CM.HighlightStyle.define(styles))]),
      CM.StateEffect.appendConfig.of([
        CM.EditorView.contentAttributes.of({ "aria-label": given.label, "aria-describedby": given.hint }),
        CM.Prec.highest(CM.keymap.of([
          { key: "Mod-Enter", run: () => ask(true) },
          { key: "Mod-Shift-Enter", run: () => ask(false) },
        ])),
        remember,
      ]),
    ],
  });

  const insert = (text) => {
    view.dispatch(view.state.replaceSelection(text), { scrollIntoView: true });
    view.focus();
  };
  window.caudalKsql = {
    run: ask,
    insert,
    replace(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      view.dispatch({ selection: { anchor: view.state.doc.length } });
      view.focus();
    },
    correct(from, to, text) {
      const units = (characters) => [...view.state.doc.toString()].slice(0, characters).join("").length;
      view.dispatch({ changes: { from: units(from), to: units(to), insert: text } });
      view.focus();
    },
    candidates(answered, found) {
      const resolve = waiting.get(answered);
      waiting.delete(answered);
      if (!resolve) return;
      resolve(found.candidates.length ? {
        back: found.back,
        filter: false,
        options: found.candidates.map((one, index) => ({ ...one, type: icons[one.kind], boost: 99 - index })),
      } : null);
    },
  };
  // Names of the side panel, and statements of the history.
  document.addEventListener("click", (event) => {
    const inserting = event.target.closest("[data-insert]");
    const replacing = event.target.closest("[data-replace]");
    if (inserting) insert(inserting.dataset.insert);
    else if (replacing) window.caudalKsql.replace(replacing.dataset.replace);
  });
}
