import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { actAs, acting } from '../api.ts'
import { t } from '../i18n/i18n.ts'
import { UserRoundCog } from '../icons.ts'
import { Icon } from '../parts/Icon.tsx'

/**
 * A banner over every page while an administrator acts on behalf of an eperson, so that it is not forgotten.
 */
export function ActingBanner(): JSX.Element | null {
  const person = acting.value
  const banner = useRef<HTMLDivElement>(null)
  // Other elements that stick to the top are placed below the banner.
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
