/** Chinese: the JSON files beside this one, compiled by the build. */
export { default } from 'virtual:messages/zh-CN'
