import { defineAsyncComponent, type Component } from 'vue'
import { loadPageMessages } from '@/i18n'

/** A part of the conversation that comes when it is first needed, with the messages that the first load leaves out. */
export const lazyPart = <T extends Component>(load: () => Promise<{ default: T }>) => defineAsyncComponent<T>(() => Promise.all([load(), loadPageMessages()]).then(([part]) => part.default))
