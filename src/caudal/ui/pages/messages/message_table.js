// The browser's side of table.py: rows of messages, opened by a click or by the button on their offset.
export default {
  template: `
    <div class="table-box messages">
      <div class="table-scroll" tabindex="0" role="region" :aria-label="label">
        <table :aria-busy="busy">
          <caption class="sr-only">{{ label }}</caption>
          <thead><tr>
            <th scope="col">{{ words.time }}</th>
            <th scope="col" class="k-number">{{ words.partition }}</th>
            <th scope="col" class="k-number">{{ words.offset }}</th>
            <th scope="col">{{ words.key }}</th>
            <th scope="col">{{ words.value }}</th>
            <th scope="col" class="k-number">{{ words.size }}</th>
          </tr></thead>
          <tbody>
            <tr v-for="row in shown" :key="row.id" :class="{ open: row.id === opened }" @click="open(row)">
              <td class="time">{{ row.time }}</td>
              <td class="k-number">{{ row.partition }}</td>
              <td class="k-number"><button type="button" class="offset" :aria-label="row.label" @click.stop="open(row)">{{ row.offset }}</button></td>
              <td class="k-mono key"><span class="cut" :class="row.keyKind">{{ row.key }}</span></td>
              <td class="k-mono value"><span v-if="row.badge" class="badge info">{{ row.badge }}</span><span class="cut" :class="row.valueKind">{{ row.value }}</span></td>
              <td class="k-number muted">{{ row.size }}</td>
            </tr>
            <tr v-if="!shown.length"><td colspan="6" class="table-empty">{{ busy ? "…" : empty }}</td></tr>
          </tbody>
        </table>
      </div>
    </div>`,
  props: { rows: Array, label: String, empty: String, words: Object, busy: Boolean, opened: String },
  data() { return { live: [] }; },
  computed: {
    shown() { return this.live.length ? [...this.live, ...this.rows] : this.rows; },
  },
  watch: {
    rows() { this.live = []; },
  },
  methods: {
    open(row) {
      const selected = String(window.getSelection());
      if (!selected) this.$emit("open", { id: row.id });
    },
    // Newest first; what is beyond `most` goes.
    add(rows, most) { this.live = [...rows, ...this.live].slice(0, most); },
  },
};
