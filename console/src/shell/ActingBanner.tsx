import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { actAs, acting } from '../api.ts'
import { t } from '../i18n/i18n.ts'
import { UserRoundCog } from '../icons.ts'
import { Icon } from '../parts/Icon.tsx'

/** While an administrator acts as somebody else: over every page, so that nobody forgets. */
export function ActingBanner(): JSX.Element | null {
  const person = acting.value
  const banner = useRef<HTMLDivElement>(null)
  // What else stays at the top stays below it.
  useLayoutEffect(() => {
    const { style } = document.documentElement
    const element = banner.current
    if (!element) return
    const observer = new ResizeObserver(() => style.setProperty('--banner', `${element.offsetHeight}px`))
    observer.observe(element)
    return () => {
      observer.disconnect()
      style.removeProperty('--banner')
    }
  }, [person])
  if (!person) return null
  return (
    <div class="acting" role="status" ref={banner}>
      <Icon of={UserRoundCog} size={20} />
      <p>
        {t('acting.as')} <strong>{person.name}</strong>
        {person.reason && <span class="reason"> – {person.reason}</span>}
      </p>
      <button type="button" class="button" onClick={() => actAs(undefined)}>
        {t('acting.end')}
      </button>
    </div>
  )
}
