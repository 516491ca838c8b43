// The browser's side of components/table.py: draws what it is given, and asks for what it is not.
export default {
  template: `
    <div class="table-box">
      <div v-if="search" class="table-search">
        <i class="material-icons" aria-hidden="true">filter_list</i>
        <input type="search" :value="q" :placeholder="search" :aria-label="search" @input="onSearch" />
      </div>
      <div class="table-scroll" tabindex="0" role="region" :aria-label="label">
        <table :aria-busy="loading">
          <caption class="sr-only">{{ label }}</caption>
          <thead><tr>
            <th v-for="c in columns" :key="c.name" scope="col" :class="'k-' + c.kind" :aria-sort="ariaSort(c)">
              <button v-if="c.sortable" type="button" @click="onSort(c)" :title="words.sort.replace('{column}', c.label)">
                {{ c.label }}<i class="material-icons" aria-hidden="true">{{ sortIcon(c) }}</i>
              </button>
              <span v-else-if="c.kind === 'actions'" class="sr-only">{{ words.actions }}</span>
              <template v-else>{{ c.label }}</template>
            </th>
          </tr></thead>
          <tbody>
            <tr v-for="(row, index) in rows" :key="row.id ?? index">
              <td v-for="c in columns" :key="c.name" :class="'k-' + c.kind" :title="cell(row, c).title">
                <template v-if="c.kind === 'actions'">
                  <button v-for="a in row[c.name] || []" :key="a.name" type="button" class="icon-button"
                    :aria-label="a.label + ' ' + (row.id ?? '')" :title="a.label" @click="act(a.name, row)">
                    <i class="material-icons" aria-hidden="true">{{ a.icon }}</i></button>
                </template>
                <a v-else-if="cell(row, c).href" :href="cell(row, c).href">{{ cell(row, c).text }}</a>
                <span v-else-if="c.kind === 'badge' && cell(row, c).text" :class="['badge', cell(row, c).tone]">{{ cell(row, c).text }}</span>
                <span v-else-if="c.kind === 'status'" :class="['status', cell(row, c).tone]"><span class="dot" aria-hidden="true"></span>{{ cell(row, c).text }}</span>
                <span v-else :class="cell(row, c).tone">{{ cell(row, c).text }}</span>
              </td>
            </tr>
            <tr v-if="!rows.length"><td :colspan="columns.length" class="table-empty">{{ loading ? '…' : empty }}</td></tr>
          </tbody>
        </table>
      </div>
      <div v-if="foot" class="table-foot">
        <span aria-live="polite">{{ count }}</span>
        <span v-if="pages > 1" class="pager">
          <button type="button" class="icon-button" :disabled="page <= 1" :aria-label="words.previous" @click="ask({page: page - 1})">
            <i class="material-icons" aria-hidden="true">chevron_left</i></button>
          <span>{{ page }} / {{ pages }}</span>
          <button type="button" class="icon-button" :disabled="page >= pages" :aria-label="words.next" @click="ask({page: page + 1})">
            <i class="material-icons" aria-hidden="true">chevron_right</i></button>
        </span>
      </div>
    </div>`,
  props: {
    columns: Array, rows: Array, label: String, search: String, empty: String, words: Object, loading: Boolean, foot: Boolean,
    page: Number, pages: Number, sort: String, descending: Boolean, q: String, count: String,
  },
  methods: {
    cell(row, column) {
      const value = row[column.name];
      return value !== null && typeof value === "object" ? value : { text: value ?? "–" };
    },
    ariaSort(c) {
      if (!c.sortable) return null;
      return this.sort !== c.name ? "none" : this.descending ? "descending" : "ascending";
    },
    sortIcon(c) {
      return this.sort !== c.name ? "unfold_more" : this.descending ? "arrow_downward" : "arrow_upward";
    },
    onSort(c) {
      const again = this.sort === c.name;
      this.ask({ page: 1, sort: c.name, descending: again ? !this.descending : c.kind === "number" });
    },
    onSearch(event) {
      const q = event.target.value;
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.ask({ page: 1, q }), 200);
    },
    act(name, row) { this.$emit("act", { name, id: row.id }); },
    ask(change) {
      this.$emit("ask", { page: this.page, sort: this.sort, descending: this.descending, q: this.q, ...change });
    },
  },
};
