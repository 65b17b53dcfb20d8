import { cloneVNode, Comment, defineComponent, type VNode } from 'vue'

/** Gives its one child a tooltip. The text is only marked here; UiTooltipLayer shows it, one for the whole page. */
export default defineComponent({
  name: 'UiTooltip',
  props: { text: { type: String, required: true }, shortcut: String, side: String, disabled: Boolean },
  setup(props, { slots }) {
    return () => {
      const child = slots.default?.().find((node: VNode) => node.type !== Comment)
      if (!child || props.disabled) return child
      return cloneVNode(child, { 'data-tip': props.text, 'data-tip-key': props.shortcut, 'data-tip-side': props.side })
    }
  },
})
