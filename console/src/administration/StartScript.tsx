import { startProcess } from '@carrel/client/processes'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { service } from '../api.ts'
import { a, aOf } from '../i18n/admin.ts'
import { Input, Select } from '../parts/controls.tsx'
import { Field } from '../parts/Field.tsx'
import { FormDialog } from '../parts/forms.tsx'
import { useLoad, useWork } from '../parts/load.ts'
import { Loading } from '../parts/states.tsx'
import { go } from '../router.ts'
import { loadScripts, processPath } from './processes.ts'

interface Parts {
  readonly only?: string
  readonly onClose: () => void
}

/**
 * A dialog that starts a script of the service. @param only the script to start; without it, the user chooses
 * one
 */
export function StartScript({ only, onClose }: Parts): JSX.Element {
  const { value: scripts, problem } = useLoad(loadScripts, [])
  const [name, setName] = useState(only)
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const script = scripts?.find(one => one.name === (name ?? scripts[0]?.name))
  const work = useWork(async () => {
    if (!script) return
    const given = Object.fromEntries(
      script.parameters.flatMap(({ nameLong }) => {
        const value = values[nameLong]?.trim() ?? ''
        return value === '' ? [] : [[nameLong.replace(/^--/, ''), value]]
      }),
    )
    const { processId } = await startProcess(service.value, script.name, given)
    onClose()
    go(processPath(processId))
  })
  return (
    <FormDialog
      title={only === undefined ? a('processes.start') : aOf('script', only)}
      act={a('processes.start.do')}
      work={{ ...work, problem: problem ?? work.problem }}
      isOff={!script}
      onClose={onClose}
    >
      {scripts ? (
        <>
          {only === undefined && (
            <Field label={a('process.kind')}>
              <Select
                value={script?.name ?? ''}
                onChoose={chosen => {
                  setName(chosen)
                  setValues({})
                }}
                options={scripts.map(one => [one.name, aOf('script', one.name)])}
              />
            </Field>
          )}
          {script && <p class="soft">{aOf('about', script.name)}</p>}
          {script?.parameters.map(({ nameLong, type }) => (
            <Field key={nameLong} label={aOf('parameter', nameLong)} hint={aOf('hint', nameLong)}>
              <Input
                inputMode={type === 'integer' ? 'numeric' : 'text'}
                autoComplete="off"
                value={values[nameLong] ?? ''}
                onText={text => setValues({ ...values, [nameLong]: text })}
              />
            </Field>
          ))}
        </>
      ) : (
        problem === undefined && <Loading lines={3} />
      )}
    </FormDialog>
  )
}
