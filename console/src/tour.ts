import { signal } from '@preact/signals'
import type { Entity } from './entities.ts'
import type { Key } from './i18n/i18n.ts'
import { go, withQuery } from './router.ts'

/** One of the five steps through the demo data: a page, and a card that explains it. */
interface Step {
  readonly title: Key
  readonly text: Key
  readonly path: string
}

export const steps: readonly Step[] = [
  { title: 'tour.1.title', text: 'tour.1', path: withQuery('entities/letters', { sort: '-catalogued' }) },
  {
    title: 'tour.2.title',
    text: 'tour.2',
    path: withQuery('entities/letters', { q: 'sender = "Zoë" and year < 1790' }),
  },
  {
    title: 'tour.3.title',
    text: 'tour.3',
    path: withQuery('entities/letters/draw', { by: 'place', and: 'language', as: 'cells' }),
  },
  { title: 'tour.4.title', text: 'tour.4', path: 'items' },
  { title: 'tour.5.title', text: 'tour.5', path: 'tokens' },
]

/** The current step, counted from 0; undefined outside the tour. */
export const step = signal<number | undefined>(undefined)

export function showStep(next: number | undefined): void {
  const found = next === undefined ? undefined : steps[next]
  step.value = found && next
  go(found?.path ?? '')
}

/** True for the data that `carrel serve --demo` creates. */
export const isDemo = (entities: readonly Entity[]): boolean =>
  entities.some(({ name, fields }) => name === 'letters' && fields.some(one => one.name === 'shelfmark'))
