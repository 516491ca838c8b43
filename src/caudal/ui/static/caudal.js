// The frame around the pages: theme, language, shortcuts, the palette; and small functions that pages call.
(() => {
  const YEAR = 365 * 24 * 3600;
  const remember = (name, value) => {
    document.cookie = `${name}=${value}; path=/; max-age=${YEAR}; samesite=lax`;
  };
  const $ = (selector) => document.querySelector(selector);

  // ---------------------------------------------------------------- language and theme
  const asked = new URLSearchParams(location.search);
  if (asked.has("lang")) remember("caudal_lang", asked.get("lang") === "es" ? "es" : "en");

  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    remember("caudal_theme", theme);
    if (typeof setDark === "function") setDark(theme === "auto" ? null : theme === "dark");
    const button = $("[data-theme-button]");
    const [icon, label] = JSON.parse(button.dataset.themes)[theme];
    button.querySelector("i").textContent = icon;
    button.setAttribute("aria-label", label);
    button.title = label;
  }
  $("[data-theme-button]").addEventListener("click", () => {
    const order = ["auto", "light", "dark"];
    const now = order.indexOf(document.documentElement.dataset.theme);
    setTheme(order[(now + 1) % order.length]);
  });

  // ---------------------------------------------------------------- the menu on narrow windows
  const menu = $("[data-menu]");
  const toggleMenu = (open) => {
    document.body.classList.toggle("menu-open", open);
    menu.setAttribute("aria-expanded", String(open));
  };
  menu.addEventListener("click", () => toggleMenu(!document.body.classList.contains("menu-open")));
  document.addEventListener("click", (event) => {
    if (document.body.classList.contains("menu-open") && !event.target.closest("#side, [data-menu]")) toggleMenu(false);
  });

  // ---------------------------------------------------------------- the palette
  const palette = $("#palette");
  const input = palette.querySelector("input");
  const list = $("#palette-list");
  let found = [];
  let chosen = 0;
  let turn = 0;

  async function look() {
    const mine = ++turn;
    const answer = await fetch("/_caudal/find?q=" + encodeURIComponent(input.value.trim()));
    const results = await answer.json();
    if (mine !== turn) return;
    found = results;
    chosen = 0;
    draw();
  }
  function draw() {
    list.replaceChildren(
      ...found.map((item, index) => {
        const row = document.createElement("li");
        row.id = `palette-${index}`;
        row.setAttribute("role", "option");
        row.setAttribute("aria-selected", String(index === chosen));
        const icon = Object.assign(document.createElement("i"), { className: "material-icons", textContent: item.icon });
        icon.setAttribute("aria-hidden", "true");
        const title = Object.assign(document.createElement("span"), { textContent: item.title });
        const kind = Object.assign(document.createElement("span"), { className: "kind", textContent: item.kind });
        row.append(icon, title, kind);
        row.addEventListener("click", () => location.assign(item.url));
        return row;
      }),
    );
    if (!found.length) {
      const row = document.createElement("li");
      row.className = "none";
      row.setAttribute("role", "option");
      row.setAttribute("aria-disabled", "true");
      row.textContent = window.caudalWords.nothing;
      list.append(row);
    }
    input.setAttribute("aria-activedescendant", found.length ? `palette-${chosen}` : "");
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }
  function openPalette() {
    if (palette.open) return;
    input.value = "";
    palette.showModal();
    look();
  }
  input.addEventListener("input", look);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      chosen = found.length ? (chosen + step + found.length) % found.length : 0;
      draw();
    } else if (event.key === "Enter" && found[chosen]) {
      location.assign(found[chosen].url);
    }
  });
  $("[data-palette]").addEventListener("click", openPalette);

  // ---------------------------------------------------------------- shortcuts
  const help = $("#help");
  $("[data-help]").addEventListener("click", () => help.showModal());
  for (const dialog of [palette, help]) {
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }
  let afterG = 0;
  const types = (target) =>
    target.closest?.("input, textarea, select, [contenteditable=true], .cm-editor, [role=textbox]") !== null;
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") toggleMenu(false);
    if (event.ctrlKey || event.metaKey || event.altKey || types(event.target)) {
      if ((event.ctrlKey || event.metaKey) && event.key === "k") {
        event.preventDefault();
        openPalette();
      }
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "/") {
      event.preventDefault();
      openPalette();
    } else if (event.key === "?") {
      help.showModal();
    } else if (event.key === "g") {
      afterG = Date.now();
    } else if (Date.now() - afterG < 1500) {
      afterG = 0;
      const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (link) location.assign(link.href);
    }
  });

  // ---------------------------------------------------------------- for pages
  const locale = document.documentElement.lang.startsWith("es") ? "es" : "en";
  const plain = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 });
  const compact = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
  window.caudal = {
    setTheme,
    number: (v) => (v === null || v === undefined ? "–" : Math.abs(v) >= 10000 ? compact.format(v) : plain.format(v)),
    bytes(v) {
      if (v === null || v === undefined) return "–";
      const units = ["B", "KiB", "MiB", "GiB", "TiB"];
      let unit = 0;
      while (Math.abs(v) >= 1024 && unit < units.length - 1) {
        v /= 1024;
        unit += 1;
      }
      return `${new Intl.NumberFormat(locale, { maximumFractionDigits: unit ? 1 : 0 }).format(v)} ${units[unit]}`;
    },
    setQuery(changes) {
      const url = new URL(location.href);
      for (const [name, value] of Object.entries(changes)) {
        if (value === null) url.searchParams.delete(name);
        else url.searchParams.set(name, value);
      }
      history.replaceState(history.state, "", url);
    },
    async copy(text) {
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        // Without https or localhost there is no clipboard; a selection can be copied anyway.
        const area = Object.assign(document.createElement("textarea"), { value: text });
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
      }
      window.Quasar?.Notify?.create({ message: window.caudalWords.copied, timeout: 1200, position: "bottom-right" });
    },
  };
})();
