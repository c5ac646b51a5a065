import { computed, effect, signal } from '@preact/signals'
import type { Amount } from '../exact.ts'
import { recall, remember } from '../settings.ts'
import type { Everybody, Key } from './dictionary.ts'
import { english, languages, textsOf } from './languages.ts'
import { everybody as terms, type WordsByTerm } from './terms.ts'
import type { Text } from './text.ts'

export type { Key }

/**
 * Returns the language chosen in this browser, or else the browser's first preferred language that the
 * console has.
 */
function wanted(): string {
  const codes = [recall('language') ?? '', ...navigator.languages.map(one => one.split('-', 1)[0] ?? '')]
  return codes.find(code => languages.includes(code)) ?? 'en'
}

const current = signal<{ readonly code: string; readonly texts: Everybody }>({ code: 'en', texts: english })
export const language = computed(() => current.value.code)

async function speak(code: string): Promise<void> {
  const texts = await textsOf(code)
  current.value = { code, texts }
}

export function chooseLanguage(code: string): Promise<void> {
  remember('language', code)
  return speak(code)
}

/** Loads the language before the first page is shown. If that fails, the console appears in English. */
export const beginSpeaking = (): Promise<void> => speak(wanted()).catch(() => {})

effect(() => {
  document.documentElement.lang = language.value
})

export type Values = Readonly<Record<string, string | number>>

/** @param values replace the placeholders of the text; `n` also chooses the plural form */
export const t = (key: Key, values: Values = {}): string => say(current.value.texts[key], values)

/** Returns the words for a term of the API, or the term itself if there are none. */
export const tOf = (kind: keyof typeof terms, term: string): string => wordsFor(terms[kind], term)

/** Finds the words for a term in the current language. */
export function wordsFor(table: WordsByTerm, term: string): string {
  const words = Object.hasOwn(table, term) ? table[term] : undefined
  return words?.[language.value as keyof typeof words] ?? words?.en ?? term
}

/** Fills in a text of any dictionary in the current language. */
export function say(text: Text, values: Values): string {
  const chosen =
    typeof text === 'string' ? text : (text[plurals.value.select(Number(values.n))] ?? text.other)
  return chosen.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name]
    return value === undefined ? whole : typeof value === 'number' ? formatNumber(value) : value
  })
}

/**
 * True if formats accept the tag. Some browsers report `en-US@posix` for a system without a language, which
 * they refuse.
 */
function isTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1
  } catch {
    return false
  }
}

/**
 * The tag for number and time formats: the browser's regional variant of the current language if it names
 * one.
 */
const locale = computed(() => {
  const regional = navigator.languages.find(one => one.split('-', 1)[0] === language.value && isTag(one))
  return regional ?? language.value
})
const plurals = computed(() => new Intl.PluralRules(locale.value))
const numbers = computed(() => new Intl.NumberFormat(locale.value))
const relative = computed(() => new Intl.RelativeTimeFormat(locale.value, { numeric: 'auto' }))

/** Formats an integer with all its digits, however large; a string holds digits. */
export const formatNumber = (value: Amount): string =>
  numbers.value.format(value as number | bigint | `${number}`)

/** Formats a number briefly, for the axis of a drawing. */
export function formatShort(value: number): string {
  const size = Math.abs(value)
  if (size < 1e6) return formatNumber(value)
  const notation = size < 1e15 ? 'compact' : 'scientific'
  return new Intl.NumberFormat(locale.value, { notation }).format(value)
}

/**
 * The time zone of every time that the console shows or asks for, which queries, drawings and logs use too.
 * Two people who look at the same address read the same times. The zone is shown beside each time.
 */
export const zone = 'UTC'

const day = { year: 'numeric', month: 'short', day: 'numeric' } as const
const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
const precisions = {
  day,
  minute: { ...day, hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
  second: { ...day, ...clock, timeZoneName: 'short' },
  clock,
} as const
type Precision = keyof typeof precisions

const times = computed(() => {
  const format = (precision: Precision) =>
    new Intl.DateTimeFormat(locale.value, { ...precisions[precision], timeZone: zone })
  return {
    day: format('day'),
    minute: format('minute'),
    second: format('second'),
    clock: format('clock'),
  }
})

/** Formats a time, in the one place that does so. A text that is no valid time is returned unchanged. */
function inZone(given: string | number, precision: Precision): string {
  const time = new Date(given)
  return Number.isNaN(time.getTime()) ? String(given) : times.value[precision].format(time)
}

/** Formats a time to the minute, or as a day if it is midnight. */
export const formatTime = (text: string): string =>
  inZone(text, /T00:00:00(\.0+)?Z$/.test(text) ? 'day' : 'minute')

/** Formats a time with seconds, for events in quick succession. */
export const formatMoment = (text: string): string => inZone(text, 'second')

/** Formats the time of day, for lists whose zone is named once. */
export const formatClock = (time: string | number): string => inZone(time, 'clock')

const steps = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

/** Formats a time relative to now, such as “5 minutes ago”. */
export function formatAgo(text: string, now: number = Date.now()): string {
  const seconds = (new Date(text).getTime() - now) / 1000
  const [unit, size] = steps.find(([, length]) => Math.abs(seconds) >= length) ?? (['second', 1] as const)
  return relative.value.format(Math.round(seconds / size), unit)
}

const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

export function formatBytes(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  const unit = units[power] ?? 'byte'
  return new Intl.NumberFormat(locale.value, {
    style: 'unit',
    unit,
    unitDisplay: power === 0 ? 'long' : 'short',
    maximumFractionDigits: power === 0 ? 0 : 1,
  }).format(bytes / 1000 ** power)
}

/** Formats a duration, such as “4 min 05 s”. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60]
  const two = (value: number) => String(value).padStart(2, '0')
  if (hours > 0) return `${hours} h ${two(minutes)} min`
  return minutes > 0 ? `${minutes} min ${two(whole % 60)} s` : `${whole} s`
}
