import { spawn } from 'node:child_process';

/** The output of a shell command, awaited without blocking, because the service runs in this process. */
export async function outputOf(
  command: string,
  variables: NodeJS.ProcessEnv,
  folder: string = process.cwd(),
): Promise<string> {
  const shell = spawn('sh', ['-c', command], {
    env: { ...process.env, ...variables },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  for await (const piece of shell.stdout) output += String(piece);
  return output;
}
