import type { JSX } from 'preact'
import { href, path } from '../router.ts'
import './tabs.css'

interface Parts {
  readonly label: string
  readonly pages: readonly (readonly [path: string, name: string])[]
}

/** Tabs that lead to related pages. */
export const Tabs = ({ label, pages }: Parts): JSX.Element => (
  <nav class="tabs" aria-label={label}>
    <ul>
      {pages.map(([to, name]) => (
        <li key={to}>
          <a href={href(to)} {...(path.value === to ? { 'aria-current': 'page' } : {})}>
            {name}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)
