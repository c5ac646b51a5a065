import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from '../support/service/process.ts'

export const nginxProgram = '/usr/sbin/nginx'

/** Returns the first block of a language in a guide. */
export const blockOf = (file: string, language: string): string =>
  new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(
    readFileSync(join(repository, file), 'utf8'),
  )?.[1] ?? ''

/** Returns the upstream and the server of docs/deployment.md, with both nodes at the same address. */
export const serverForNodes = (port: number, backend: string): string =>
  blockOf('docs/deployment.md', 'nginx')
    .replaceAll(/127\.0\.0\.1:808[12]/g, backend)
    .replace('listen 8088', `listen 127.0.0.1:${port}`)

/**
 * Writes nginx's whole configuration around the servers of an example.
 *
 * @param more configuration before the servers
 * @returns the arguments of the program
 */
export function configureNginx(folder: string, servers: string, more = ''): readonly string[] {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off;
pid ${folder}/nginx.pid;
${process.getuid?.() === 0 ? 'user www-data;' : ''}
events { worker_connections 256; }
http {
    access_log off;
    ${temporary.map(name => `${name}_temp_path ${folder}/${name};`).join('\n    ')}
${more}
${servers}
}
`,
  )
  return ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')]
}
