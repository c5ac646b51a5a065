import type { JSX } from 'preact'
import { href } from '../router.ts'
import { hasLogo, repositoryName } from '../settings.ts'

export const Brand = (): JSX.Element => (
  <a class="brand" href={href('')}>
    {hasLogo ? <img src={href('logo')} alt="" /> : <Book />}
    <bdi>{repositoryName}</bdi>
  </a>
)

/** The logo of Carrel itself. */
const Book = () => (
  <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true">
    <path
      d="M3.5 25.5V7.5c4.2-1.6 8.7-1.1 12.5 1.6 3.8-2.7 8.3-3.2 12.5-1.6v18c-4.2-1.6-8.7-1.1-12.5 1.6-3.8-2.7-8.3-3.2-12.5-1.6Zm12.5 1.6v-18"
      fill="none"
      stroke="currentColor"
      stroke-width="2.4"
      stroke-linejoin="round"
    />
  </svg>
)
