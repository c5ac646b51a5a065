import { batch, computed, signal } from '@preact/signals'
import { owner } from './owner.ts'

/**
 * The address holds the state: the page and its parameters. Paths are relative to the console, such as
 * `entities/letters`; the service's <base> element says where the console is.
 */
const base = new URL(document.baseURI).pathname

/** The named parts of the path. */
export type Parameters = Readonly<Record<string, string>>

/** The address of the service itself, which shows the first page, too. */
const home = base.replace(/console\/$/, '')

const pathHere = () => {
  const { pathname } = location
  return pathname.startsWith(base) ? pathname.slice(base.length).replace(/\/$/, '') : ''
}

/** The state of an entry of the history: whose it is, and where its page was scrolled to. */
interface Entry {
  readonly by?: string | undefined
  readonly scroll?: number
}
const entryHere = () => history.state as Entry | null
const ownEntry = (more?: Entry | null): Entry => ({ ...more, by: owner.value })

export const path = signal(pathHere())
const search = signal(location.search)
/** Parameters of the address. */
export const query = computed(() => new URLSearchParams(search.value))
/** Counts the pages opened; a rise lets the new page take the focus. */
export const visits = signal(0)

/** @param to a path of the console, with or without parameters; the empty string is the first page */
export const href = (to: string): string => (to === '' ? home : base + to)

export function go(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  const address = href(to)
  if (replace) history.replaceState(ownEntry(), '', address)
  else {
    keepScroll()
    history.pushState(ownEntry(), '', address)
  }
  arrive()
}

/** Changes parameters of this page's address; null removes one. */
export function setQuery(
  changes: Readonly<Record<string, string | null>>,
  { replace = false }: { readonly replace?: boolean } = {},
): void {
  const next = new URLSearchParams(query.value)
  for (const [name, value] of Object.entries(changes))
    if (value === null || value === '') next.delete(name)
    else next.set(name, value)
  const text = next.size === 0 ? '' : `?${next}`
  if (text === search.value) return
  history[replace ? 'replaceState' : 'pushState'](ownEntry(entryHere()), '', location.pathname + text)
  search.value = text
}

/** Adds parameters to a path, without those that have no value. */
export function withQuery(
  to: string,
  parameters: Readonly<Record<string, string | null | undefined>>,
): string {
  const given = Object.entries(parameters).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  )
  return given.length === 0 ? to : `${to}?${new URLSearchParams(given as [string, string][])}`
}

function arrive() {
  batch(() => {
    const isNew = path.value !== pathHere()
    path.value = pathHere()
    search.value = location.search
    if (isNew) visits.value++
  })
}

const keepScroll = () => history.replaceState(ownEntry({ scroll: scrollY }), '')

/**
 * Handles clicks on links. They stay plain anchors, so that they can be opened in a new tab, copied and read
 * out.
 */
function onClick(event: MouseEvent) {
  if (
    event.defaultPrevented ||
    event.button !== 0 ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey
  )
    return
  const anchor = (event.target as Element | null)?.closest?.('a')
  // A link of a drawing is SVG, whose attributes are objects.
  const [address, target] = [anchor?.getAttribute('href'), anchor?.getAttribute('target')]
  if (!address || target || anchor?.hasAttribute('download')) return
  const { origin, pathname, search: parameters } = new URL(address, document.baseURI)
  if (origin !== location.origin) return
  if (pathname !== home && !pathname.startsWith(base)) return
  event.preventDefault()
  go((pathname === home ? '' : pathname.slice(base.length)) + parameters)
}

export function listen(): void {
  // The way back leads to no page of a person who has logged out.
  const { by } = entryHere() ?? {}
  if (by !== undefined && by !== owner.value) go('', { replace: true })
  else history.replaceState(ownEntry(entryHere()), '')
  addEventListener('click', onClick)
  addEventListener('popstate', event => {
    arrive()
    const scroll = (event.state as Entry | null)?.scroll ?? 0
    requestAnimationFrame(() => scrollTo(0, scroll))
  })
}
