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
const dateTimes = computed(
  () => new Intl.DateTimeFormat(locale.value, { dateStyle: 'medium', timeStyle: 'short' }),
)
const dates = computed(() => new Intl.DateTimeFormat(locale.value, { dateStyle: 'medium', timeZone: 'UTC' }))
const moments = computed(
  () => new Intl.DateTimeFormat(locale.value, { dateStyle: 'medium', timeStyle: 'medium' }),
)
const clocks = computed(() => new Intl.DateTimeFormat(locale.value, { timeStyle: 'medium' }))
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

/** Midnight in UTC is a day, not a moment. */
export function formatTime(text: string): string {
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) return text
  return /T00:00:00(\.0+)?Z$/.test(text) ? dates.value.format(time) : dateTimes.value.format(time)
}

/** With seconds, for what follows in quick order. */
export const formatMoment = (text: string): string => moments.value.format(new Date(text))

/** The time of day. */
export const formatClock = (time: number): string => clocks.value.format(time)

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
