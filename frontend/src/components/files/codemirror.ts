import { defaultKeymap, indentWithTab } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import { python } from '@codemirror/lang-python'
import { syntaxHighlighting } from '@codemirror/language'
import { MergeView, unifiedMergeView } from '@codemirror/merge'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { classHighlighter } from '@lezer/highlight'
import { basicSetup } from 'codemirror'
import { extensionOf } from '@/lib/fileKind'

/** The code editor, in a chunk of its own; colours come from the app's tokens through classes. */

const LANGUAGES: Record<string, () => Extension> = { py: python, json }
const nonce = () => document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''

const theme = EditorView.theme({
  '&': { backgroundColor: 'var(--code-bg)', color: 'var(--code-text)', fontSize: 'var(--size-s)', height: '100%' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, ::selection': { backgroundColor: 'color-mix(in srgb, var(--accent) 26%, transparent)' },
  '.cm-gutters': { backgroundColor: 'var(--code-bg)', color: 'var(--text-faint)', borderRight: '1px solid var(--border)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--bg-hover) 55%, transparent)' },
  '.cm-panels': { backgroundColor: 'var(--bg-raised)', color: 'var(--text)', borderColor: 'var(--border)' },
  '.cm-searchMatch': { backgroundColor: 'var(--warn-soft)', outline: '1px solid var(--warn)' },
  '.cm-tooltip': { backgroundColor: 'var(--bg-raised)', borderColor: 'var(--border)' },
  '.cm-changedLine, .cm-insertedLine': { backgroundColor: 'var(--diff-add)' },
  '.cm-deletedChunk, .cm-deletedLine': { backgroundColor: 'var(--diff-del)' },
})

const usual = (path: string): Extension[] => [
  basicSetup, theme, EditorView.cspNonce.of(nonce()), syntaxHighlighting(classHighlighter), LANGUAGES[extensionOf(path)]?.() ?? [], keymap.of([...defaultKeymap]),
]

export interface Editor {
  set: (text: string) => void
  goTo: (line: number) => void
  focus: () => void
  destroy: () => void
}

interface EditorOptions {
  text: string
  path: string
  label: string
  readOnly: boolean
  onChange: (text: string) => void
  onSave: () => void
}

/** An editor in `parent`. Line endings of the file are kept. Tab indents; Esc then Tab leaves the field. */
export function createEditor(parent: HTMLElement, options: EditorOptions): Editor {
  const stateOf = (text: string) =>
    EditorState.create({
      doc: text,
      extensions: [
        keymap.of([{ key: 'Mod-s', preventDefault: true, run: () => (options.onSave(), true) }, indentWithTab]),
        ...usual(options.path),
        EditorView.contentAttributes.of({ 'aria-label': options.label }),
        EditorState.readOnly.of(options.readOnly),
        text.includes('\r\n') ? EditorState.lineSeparator.of('\r\n') : [],
        EditorView.updateListener.of((update) => update.docChanged && options.onChange(update.state.sliceDoc())),
      ],
    })
  const view = new EditorView({ parent, state: stateOf(options.text) })
  return {
    set: (text) => text !== view.state.sliceDoc() && view.setState(stateOf(text)),
    goTo: (line) => {
      const place = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines))
      view.dispatch({ selection: { anchor: place.from }, effects: EditorView.scrollIntoView(place.from, { y: 'center' }) })
      view.focus()
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  }
}

/** Two versions of a file: side by side, or one over the other where there is no room. */
export function createComparison(parent: HTMLElement, path: string, before: string, after: string, sideBySide: boolean): () => void {
  const still = [...usual(path), EditorState.readOnly.of(true), EditorView.editable.of(false)]
  if (sideBySide) {
    const merge = new MergeView({ parent, a: { doc: before, extensions: still }, b: { doc: after, extensions: still }, collapseUnchanged: { margin: 3 } })
    return () => merge.destroy()
  }
  const view = new EditorView({ parent, doc: after, extensions: [...still, unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: { margin: 3 } })] })
  return () => view.destroy()
}
