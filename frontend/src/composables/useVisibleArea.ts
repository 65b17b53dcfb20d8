import { onBeforeUnmount, onMounted } from 'vue'

/** Less than this is a bar of the browser that comes and goes; a keyboard on the screen takes more. */
const KEYBOARD_PX = 100

/**
 * Keeps the page in what the on-screen keyboard leaves free. Where the browser makes the page itself smaller
 * (`interactive-widget`), there is nothing to do; iOS lays the keyboard over it and pushes the page up instead.
 */
export function useVisibleArea(): void {
  const area = window.visualViewport
  const root = document.documentElement
  function follow(): void {
    const covered = area && area.scale <= 1.01 && window.innerHeight - area.height > KEYBOARD_PX
    root.toggleAttribute('data-keyboard', Boolean(covered))
    root.style.setProperty('--visible-height', covered ? `${area.height}px` : '')
    root.style.setProperty('--visible-top', covered ? `${area.offsetTop}px` : '')
  }
  onMounted(() => {
    area?.addEventListener('resize', follow)
    area?.addEventListener('scroll', follow)
    follow()
  })
  onBeforeUnmount(() => {
    area?.removeEventListener('resize', follow)
    area?.removeEventListener('scroll', follow)
  })
}
