import { signal } from '@preact/signals'
import { prefix, recall, remember } from './settings.ts'

/**
 * A document of the console belongs to one person. What they typed, what is shown, what can be undone: all of it
 * is state of the document, of its tab, or marked with their UUID. When they log out, or another person logs in,
 * the tab forgets what it kept and loads an empty document, and the old one sends nothing more. A session that only
 * ran out changes nothing, so its person goes on where they were.
 */
const home = document.baseURI.replace(/console\/$/, '')

/** Reads a value kept in this tab, which survives a reload; null also if storage is forbidden. */
export function recallInTab(name: string): string | null {
  try {
    return sessionStorage.getItem(prefix + name)
  } catch {
    return null
  }
}

export function rememberInTab(name: string, value: string | null): void {
  try {
    // A document that is over may still hear a key.
    if (isOver) return
    if (value === null) sessionStorage.removeItem(prefix + name)
    else sessionStorage.setItem(prefix + name, value)
  } catch {
    // Without storage, the value lasts as long as the page is open.
  }
}

function forgetTab(): void {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key)
  } catch {
    // Nothing can have been kept.
  }
}

/** True if the person logged out, or another one logged in, while this tab listened to neither. */
const isStale = (person: string | undefined) => person !== undefined && person !== recall('owner')

const kept = recallInTab('owner') ?? undefined
if (isStale(kept)) forgetTab()

/**
 * UUID of the person this document belongs to: the one who logged in last, until they log out. Undefined before
 * a login.
 */
export const owner = signal(isStale(kept) ? undefined : kept)

let isOver = false
/** False if storage is forbidden; then other tabs say what happened, but not what happened before. */
let isShared = false

/** Gives the document to the person of a session. One that belongs to another person ends. */
export function claim(person: string): void {
  if (owner.value !== undefined && owner.value !== person) {
    end(person)
    return
  }
  owner.value = person
  rememberInTab('owner', person)
  remember('owner', person)
  isShared = recall('owner') === person
}

/**
 * Ends this document and forgets what its tab has kept.
 *
 * @param next the person who has logged in meanwhile; undefined after a log-out
 */
export function end(next?: string): void {
  isOver = true
  forgetTab()
  // Another tab may have said so already, and a later login too.
  if (recall('owner') === owner.value) remember('owner', next ?? null)
  location.replace(home)
}

/** Ends the document if another tab has ended its person's session, and returns true if it is over. */
function look(): boolean {
  if (!isOver && isShared && isStale(owner.value)) end()
  return isOver
}

/** Holds back what would be sent once the document is over: it gets no answer, so that none is shown either. */
export const ownedOnly = (): Promise<never> | undefined => (look() ? new Promise(() => {}) : undefined)

// A browser may show a document again as it was left.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted && look()) location.replace(home)
})
