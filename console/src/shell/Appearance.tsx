import type { JSX } from 'preact'
import { chooseLanguage, language, t } from '../i18n/i18n.ts'
import { languages, nameOf } from '../i18n/languages.ts'
import { Check, Moon, Sun, SunMoon } from '../icons.ts'
import { Button } from '../parts/controls.tsx'
import { Icon } from '../parts/Icon.tsx'
import { Menu } from '../parts/Menu.tsx'
import { toast } from '../parts/toast.tsx'
import { theme } from '../settings.ts'

const themes = [
  ['system', 'theme.system', SunMoon],
  ['light', 'theme.light', Sun],
  ['dark', 'theme.dark', Moon],
] as const

/** A menu for theme and language, which are kept in this browser. */
export const Appearance = (): JSX.Element => (
  <Menu
    side="up"
    label={`${t('theme')}, ${t('language')}`}
    buttonClass="button quiet icon"
    button={<Icon of={themes.find(([name]) => name === theme.value)?.[2] ?? SunMoon} />}
  >
    <p class="menu-title">{t('theme')}</p>
    {themes.map(([name, key, icon]) => (
      <Button
        look="menu"
        key={name}
        icon={icon}
        aria-pressed={theme.value === name}
        onClick={() => {
          theme.value = name
        }}
      >
        {t(key)}
        {theme.value === name && <Icon of={Check} />}
      </Button>
    ))}
    <p class="menu-title">{t('language')}</p>
    {languages.map(code => (
      <Button
        look="menu"
        key={code}
        lang={code}
        aria-pressed={language.value === code}
        onClick={() => chooseLanguage(code).catch(() => toast(t('offline'), 'bad'))}
      >
        {nameOf(code)}
        {language.value === code && <Icon of={Check} />}
      </Button>
    ))}
  </Menu>
)
