// The browser's side of topology_graph.py: a drawing that stays, and figures that are written into it.
export default {
  template: `<div class="topology-scroll" tabindex="0" role="region" :aria-label="label" v-html="svg"></div>`,
  props: { svg: String, label: String, rates: Object, figures: Object },
  mounted() { this.write(); },
  updated() { this.write(); },
  watch: {
    rates() { this.write(); },
    figures() { this.write(); },
  },
  methods: {
    write() {
      const rates = this.rates || {}, figures = this.figures || {};
      for (const text of this.$el.querySelectorAll("[data-rate]")) {
        const shown = rates[text.dataset.rate];
        text.textContent = shown ? shown[0] : "";
      }
      for (const edge of this.$el.querySelectorAll("[data-edge]")) {
        const shown = rates[edge.dataset.edge];
        edge.classList.toggle("t-flowing", Boolean(shown && shown[1] > 0));
      }
      for (const text of this.$el.querySelectorAll("[data-figure]")) {
        text.textContent = figures[text.dataset.figure] || "";
      }
    },
  },
};
