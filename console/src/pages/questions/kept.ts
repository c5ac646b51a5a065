import { signal } from '@preact/signals'
import { owner } from '../../owner.ts'
import { recall, remember } from '../../settings.ts'

/** Questions of one person in this browser: what was asked lately, and what they kept under a name. */
interface Kept {
  readonly recent: readonly string[]
  readonly named: readonly { readonly name: string; readonly text: string }[]
}

/** Bounds of what is kept: numbers of questions, and characters of a question and of a name. */
const most = { recent: 30, named: 100, text: 10_000, name: 100 } as const
export const longestName = most.name

const none: Kept = { recent: [], named: [] }
const changed = signal(0)
const place = () => `questions.${owner.value ?? 'nobody'}`

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= most.text

/** Reads a stored value, which may be of another version, or no JSON at all. */
export function kept(): Kept {
  changed.value
  try {
    const { recent, named } = JSON.parse(recall(place()) ?? '{}') as Record<string, unknown>
    return {
      recent: (Array.isArray(recent) ? recent : []).filter(isText).slice(0, most.recent),
      named: (Array.isArray(named) ? named : [])
        .filter((one): one is Kept['named'][number] => isText(one?.name) && isText(one?.text))
        .slice(0, most.named),
    }
  } catch {
    return none
  }
}

function keep(next: Kept): void {
  remember(place(), JSON.stringify(next))
  changed.value++
}

export function keepAsked(text: string): void {
  const { recent, named } = kept()
  if (isText(text) && recent[0] !== text)
    keep({ named, recent: [text, ...recent.filter(one => one !== text)].slice(0, most.recent) })
}

/** Keeps a question under a name; one that has the name already is replaced. */
export function keepNamed(name: string, text: string): void {
  const { recent, named } = kept()
  const others = named.filter(one => one.name !== name)
  keep({ recent, named: [...others, { name: name.slice(0, most.name), text }].slice(-most.named) })
}

export function forgetNamed(name: string): void {
  const { recent, named } = kept()
  keep({ recent, named: named.filter(one => one.name !== name) })
}

export const forgetRecent = (): void => keep({ ...kept(), recent: [] })
