import type { Component } from 'vue'
import { createRouter, createWebHistory, type Router, type RouteRecordRaw } from 'vue-router'
import { ApiError } from '@/api/problem'
import { whenSignedOut } from '@/api/client'
import { loadSession } from '@/composables/useSession'
import { loadPageMessages } from '@/i18n'

/** A page other than the conversation: its messages come along. */
const page = (load: () => Promise<unknown>) => () => Promise.all([load(), loadPageMessages()]).then(([view]) => view as { default: Component })

/** Every page, lazily loaded. A page that is not built yet is absent; links ask router.hasRoute(name). */
export const routes: RouteRecordRaw[] = [
  { path: '/', name: 'home', component: page(() => import('@/views/HomeView.vue')), meta: { title: 'shell.home' } },
  { path: '/login', name: 'login', component: page(() => import('@/views/LoginView.vue')), meta: { bare: true, title: 'login.title' } },
  { path: '/search', name: 'search', component: page(() => import('@/views/SearchView.vue')), meta: { title: 'shell.searchConversations' } },
  { path: '/p/:id/c/:cid', name: 'project-conversation', component: () => import('@/views/ConversationView.vue'), meta: { fixed: true } },
  { path: '/c/:cid', name: 'conversation', component: () => import('@/views/ConversationView.vue'), meta: { fixed: true } },
  { path: '/projects', name: 'projects', component: page(() => import('@/views/ProjectsView.vue')), meta: { title: 'shell.projects' } },
  { path: '/conversations', name: 'conversations', component: page(() => import('@/views/ConversationsView.vue')), meta: { title: 'sidebar.allConversations' } },
  { path: '/bin', name: 'bin', component: page(() => import('@/views/BinView.vue')), meta: { title: 'bin.title' } },
  { path: '/p/:id', name: 'project', component: page(() => import('@/views/ProjectView.vue')), meta: { title: 'projects.overview' } },
  { path: '/p/:id/files', name: 'files', component: page(() => import('@/views/FilesView.vue')), meta: { title: 'shell.files' } },
  { path: '/p/:id/runs', name: 'runs', component: page(() => import('@/views/RunsView.vue')), meta: { title: 'shell.runs' } },
  { path: '/p/:id/runs/:rid', name: 'run', component: page(() => import('@/views/TraceView.vue')), meta: { title: 'trace.title' } },
  { path: '/runs/:rid', name: 'run-free', component: page(() => import('@/views/TraceView.vue')), meta: { title: 'trace.title' } },
  { path: '/tools', name: 'tools', component: page(() => import('@/views/ToolsView.vue')), meta: { title: 'shell.tools' } },
  { path: '/usage', name: 'usage', component: page(() => import('@/views/UsageView.vue')), meta: { title: 'shell.usage' } },
  { path: '/settings', name: 'settings', component: page(() => import('@/views/SettingsView.vue')), meta: { title: 'shell.settings' } },
  ...(import.meta.env.MODE === 'mocked' ? [{ path: '/states', name: 'states', component: page(() => import('@/mocks/StatesView.vue')) }] : []),
  { path: '/:rest(.*)*', name: 'not-found', component: () => import('@/views/NotFoundView.vue'), meta: { title: 'state.notFoundTitle' } },
]

export function createAppRouter(): Router {
  const router = createRouter({
    history: createWebHistory('/'),
    routes,
    scrollBehavior: (_to, _from, saved) => saved ?? { top: 0 },
  })
  const toLogin = (next: string) => ({ name: 'login', query: next && next !== '/' ? { next } : {} })

  router.beforeEach(async (to) => {
    if (to.name === 'login') return true
    try {
      await loadSession()
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return toLogin(to.fullPath)
    }
    return true
  })
  whenSignedOut(() => {
    const current = router.currentRoute.value
    if (current.name !== 'login' && current.matched.length) void router.push(toLogin(current.fullPath))
  })
  return router
}
