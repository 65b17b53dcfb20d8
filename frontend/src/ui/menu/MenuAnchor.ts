import { injectDropdownMenuRootContext } from 'reka-ui'
import { defineComponent, type PropType } from 'vue'

/** Tells reka's menu about a trigger that is not one of its own: whom the focus goes back to, and who names the menu. */
export default defineComponent({
  name: 'MenuAnchor',
  props: { trigger: { type: Object as PropType<HTMLElement>, required: true }, contentId: { type: String, required: true } },
  setup(props) {
    const root = injectDropdownMenuRootContext()
    root.triggerElement.value = props.trigger
    root.triggerId = props.trigger.id
    root.contentId = props.contentId
    return () => null
  },
})
