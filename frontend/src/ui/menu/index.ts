/** All that an open menu is made of; a chunk of its own (see menuParts.ts). */
export { default as MenuBody } from './MenuBody.vue'
export { default as MenuCheck } from './MenuCheck.vue'
export { default as MenuItem } from './MenuItem.vue'
export { default as MenuLabel } from './MenuLabel.vue'
export { default as MenuSeparator } from './MenuSeparator.vue'
