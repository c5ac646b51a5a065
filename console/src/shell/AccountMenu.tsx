import type { JSX } from 'preact'
import { t } from '../i18n/i18n.ts'
import { CircleUser, KeyRound, LogOut, MonitorSmartphone, Settings } from '../icons.ts'
import { Button } from '../parts/controls.tsx'
import { Icon } from '../parts/Icon.tsx'
import { Menu } from '../parts/Menu.tsx'
import { toast } from '../parts/toast.tsx'
import { href } from '../router.ts'
import { eperson, logout } from '../session.ts'

/** A menu with the name of the logged-in eperson and links to their account. */
export function AccountMenu(): JSX.Element | null {
  const person = eperson.value
  if (!person) return null
  const leave = async () => {
    try {
      await logout()
    } catch (error) {
      toast(error instanceof Error ? error.message : t('failed'), 'bad')
    }
  }
  const entry = (path: string, icon: typeof Settings, name: string) => (
    <a class="menu-item" href={href(path)}>
      <Icon of={icon} />
      {name}
    </a>
  )
  return (
    <Menu
      side="left up"
      label={t('account', { name: person.name })}
      buttonClass="button quiet"
      icon={CircleUser}
      arrow={15}
      button={<span>{person.name}</span>}
    >
      {close => (
        // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: it hears of the links inside
        <div onClick={close}>
          <p class="menu-title">{person.email}</p>
          {entry('account', Settings, t('nav.account'))}
          {entry('sessions', MonitorSmartphone, t('nav.sessions'))}
          {entry('tokens', KeyRound, t('nav.tokens'))}
          <Button
            look="menu"
            icon={LogOut}
            label={t('logout')}
            onClick={leave}
            title={t('logout.everywhere')}
          />
        </div>
      )}
    </Menu>
  )
}
