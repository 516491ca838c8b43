// Rows of a query as they come: the newest first or last, never more than the page can hold.
export default {
  template: `
    <div class="table-box rows-table">
      <div class="table-scroll" tabindex="0" role="region" :aria-label="label" ref="scroll">
        <table>
          <caption class="sr-only">{{ label }}</caption>
          <thead><tr><th v-for="(name, at) in columns" :key="at" scope="col">{{ name }}<span class="type">{{ types[at] }}</span></th></tr></thead>
          <tbody>
            <tr v-for="row in rows" :key="row.number">
              <td v-for="(cell, at) in row.cells" :key="at" :class="{ null: cell === null }">{{ cell === null ? 'null' : cell }}</td>
            </tr>
            <tr v-if="!rows.length"><td :colspan="columns.length || 1" class="table-empty">{{ empty }}</td></tr>
          </tbody>
        </table>
      </div>
    </div>`,
  props: { columns: Array, types: Array, label: String, empty: String, most: Number, newest: Boolean },
  data: () => ({ rows: [], count: 0 }),
  methods: {
    append(cells) {
      const added = cells.map((row) => ({ number: this.count++, cells: row }));
      if (this.newest) this.rows = [...added.reverse(), ...this.rows].slice(0, this.most);
      else this.rows = [...this.rows, ...added].slice(0, this.most);
    },
  },
};
