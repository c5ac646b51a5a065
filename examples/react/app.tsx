import { type FormEvent, useState } from 'react'
import { carrel, useSession } from './carrel.ts'
import { Letters } from './letters.tsx'

export function App() {
  const session = useSession()
  return (
    <>
      <h1>Letters</h1>
      {session ? <Letters /> : <Login />}
    </>
  )
}

function Login() {
  const [problem, setProblem] = useState('')
  async function logIn(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    setProblem('')
    try {
      await carrel.login(String(form.get('user')), String(form.get('password')))
    } catch (error) {
      setProblem((error as Error).message)
    }
  }
  return (
    <form onSubmit={event => void logIn(event)}>
      <label>
        E-mail <input name="user" type="email" autoComplete="username" required />
      </label>
      <label>
        Password <input name="password" type="password" autoComplete="current-password" required />
      </label>
      <button type="submit">Log in</button>
      {problem && <p role="alert">{problem}</p>}
    </form>
  )
}
