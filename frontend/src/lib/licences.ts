/** What NanoClaw is made of, by licence: the direct dependencies of the web app and of the server. */
export const LICENCES: { licence: string; names: string[] }[] = [
  {
    licence: 'MIT',
    names: [
      'codemirror', '@codemirror/commands', '@codemirror/lang-json', '@codemirror/lang-python', '@codemirror/language', '@codemirror/merge', '@codemirror/state', '@codemirror/view', '@lezer/highlight',
      '@tanstack/vue-query', 'eventsource-parser', 'katex', 'markdown-it', 'pinia', 'reka-ui', 'virtua', 'vue', 'vue-i18n', 'vue-router',
      'alembic', 'charset-normalizer', 'ddgs', 'gunicorn', 'jmespath', 'json_repair', 'jsonschema_rs', 'openpyxl', 'pydantic', 'python-docx', 'SQLAlchemy', 'urllib3',
    ],
  },
  { licence: 'BSD-3-Clause', names: ['diff', 'highlight.js', 'Flask', 'lxml', 'lxml_html_clean', 'Protego', 'pypdf'] },
  { licence: 'Apache-2.0', names: ['trafilatura', 'tzdata'] },
  { licence: 'Apache-2.0 OR BSD-3-Clause', names: ['cryptography'] },
  { licence: 'Apache-2.0 AND CNRI-Python', names: ['regex'] },
  { licence: 'MPL-2.0 OR Apache-2.0', names: ['dompurify'] },
  { licence: 'ISC', names: ['lucide-vue-next'] },
  { licence: 'ZPL-2.1', names: ['RestrictedPython', 'waitress'] },
]
