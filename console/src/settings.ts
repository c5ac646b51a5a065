import { effect, signal } from '@preact/signals'

/** What this browser remembers of how the console looks. */
export type Theme = 'system' | 'light' | 'dark'

const themes: readonly string[] = ['light', 'dark']

/** Storage may be forbidden, or full. */
export function recall(name: string): string | null {
  try {
    return localStorage.getItem(`carrel.${name}`)
  } catch {
    return null
  }
}

export function remember(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`carrel.${name}`)
    else localStorage.setItem(`carrel.${name}`, value)
  } catch {
    // It holds for as long as the page is open.
  }
}

const chosen = recall('theme') ?? ''
export const theme = signal<Theme>(themes.includes(chosen) ? (chosen as Theme) : 'system')

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
  remember('theme', theme.value === 'system' ? null : theme.value)
})
