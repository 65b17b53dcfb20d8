import { ref } from 'vue'

/** The tag that the sidebar's conversations are narrowed to; '' for all. */
export const sidebarTag = ref('')
