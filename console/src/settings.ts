import { effect, signal } from '@preact/signals'

/** Settings of the console's appearance, kept in this browser. */
type Theme = 'system' | 'light' | 'dark'

const themes: readonly string[] = ['light', 'dark']

/**
 * Begins the names of all that is kept, so that services below one origin don't read each other's. The path ends
 * with a slash, which is left out, and a space stands for its dots: no prefix begins with another one.
 */
export const prefix = `carrel${new URL('..', document.baseURI).pathname.slice(0, -1).replaceAll('.', ' ')}.`

/** Reads a setting; null also if storage is forbidden. */
export function recall(name: string): string | null {
  try {
    return localStorage.getItem(prefix + name)
  } catch {
    return null
  }
}

export function remember(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(prefix + name)
    else localStorage.setItem(prefix + name, value)
  } catch {
    // Without storage, the setting lasts as long as the page is open.
  }
}

const chosen = recall('theme') ?? ''
export const theme = signal<Theme>(themes.includes(chosen) ? (chosen as Theme) : 'system')

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
  remember('theme', theme.value === 'system' ? null : theme.value)
})

/** The repository's own name, logo and color, as the service has put them into the page. */
const { name, logo, color } = document.querySelector<HTMLMetaElement>('meta[name="carrel"]')?.dataset ?? {}
export const repositoryName: string = name || 'Carrel'
export const hasLogo: boolean = Boolean(logo)
// Style sheets make readable tones of it (tokens.css). The policy allows no style in the page itself.
if (color && CSS.supports('color', color)) {
  document.documentElement.style.setProperty('--brand', color)
  document.documentElement.dataset.brand = ''
}
