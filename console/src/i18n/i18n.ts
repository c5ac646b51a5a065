import { computed, effect, signal } from '@preact/signals'
import type { Amount } from '../exact.ts'
import { recall, remember } from '../settings.ts'
import type { Everybody, Key } from './dictionary.ts'
import { english, languages, textsOf } from './languages.ts'
import type { Text } from './text.ts'

export type { Key }

/** As chosen here, or the first of the browser's languages that there is. */
function wanted(): string {
  const codes = [recall('language') ?? '', ...navigator.languages.map(one => one.split('-', 1)[0] ?? '')]
  return codes.find(code => languages.includes(code)) ?? 'en'
}

const current = signal<{ readonly code: string; readonly texts: Everybody }>({ code: 'en', texts: english })
export const language = computed(() => current.value.code)

export async function speak(code: string): Promise<void> {
  const texts = await textsOf(code)
  current.value = { code, texts }
}

export function chooseLanguage(code: string): Promise<void> {
  remember('language', code)
  return speak(code)
}

/** Before the first page is shown. A language that can't be loaded is no reason to show nothing. */
export const beginSpeaking = (): Promise<void> => speak(wanted()).catch(() => {})

effect(() => {
  document.documentElement.lang = language.value
})

export type Values = Readonly<Record<string, string | number>>

/** @param values `n` chooses the plural form */
export const t = (key: Key, values: Values = {}): string => say(current.value.texts[key], values)

/** A text of any dictionary in the language that is spoken. */
export function say(text: Text, values: Values): string {
  const chosen =
    typeof text === 'string' ? text : (text[plurals.value.select(Number(values.n))] ?? text.other)
  return chosen.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name]
    return value === undefined ? whole : typeof value === 'number' ? formatNumber(value) : value
  })
}

/** Some browsers call the language of a system without one `en-US@posix`, which formats refuse. */
function isTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1
  } catch {
    return false
  }
}

/** For what a drawing needs: one tree per language, so that formats are made once. */
const locale = computed(() => {
  const regional = navigator.languages.find(one => one.split('-', 1)[0] === language.value && isTag(one))
  return regional ?? language.value
})
const plurals = computed(() => new Intl.PluralRules(locale.value))
const numbers = computed(() => new Intl.NumberFormat(locale.value))
const relative = computed(() => new Intl.RelativeTimeFormat(locale.value, { numeric: 'auto' }))

/** All digits of an integer, however large: a text, too, is one of digits. */
export const formatNumber = (value: Amount): string =>
  numbers.value.format(value as number | bigint | `${number}`)

/** For the axis of a drawing, which has little room. */
export function formatShort(value: number): string {
  const size = Math.abs(value)
  if (size < 1e6) return formatNumber(value)
  const notation = size < 1e15 ? 'compact' : 'scientific'
  return new Intl.NumberFormat(locale.value, { notation }).format(value)
}

/**
 * The zone of every time that the console shows or asks for: that of queries, drawings and logs, so that two people who look
 * at one address read the same. It stands beside each time.
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

/** The one place where a time becomes text. What is no time stays as it is. */
function inZone(given: string | number, precision: Precision): string {
  const time = new Date(given)
  return Number.isNaN(time.getTime()) ? String(given) : times.value[precision].format(time)
}

/** Midnight is a day, not a moment. */
export const formatTime = (text: string): string =>
  inZone(text, /T00:00:00(\.0+)?Z$/.test(text) ? 'day' : 'minute')

/** With seconds, for what follows in quick order. */
export const formatMoment = (text: string): string => inZone(text, 'second')

/** The time of day, where the zone is named once for many. */
export const formatClock = (time: string | number): string => inZone(time, 'clock')

const steps = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

/** Such as “5 minutes ago”. */
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

/** Such as “4 min 05 s”. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60]
  const two = (value: number) => String(value).padStart(2, '0')
  if (hours > 0) return `${hours} h ${two(minutes)} min`
  return minutes > 0 ? `${minutes} min ${two(whole % 60)} s` : `${whole} s`
}
