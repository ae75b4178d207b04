import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { McpTool } from './mcp-tools.js';

export interface ToolRun {
  readonly code: number | null;
  readonly stdout: string;
  /** Both streams, for the message of a failure. */
  readonly output: string;
}

/** Runs a tool to its end. */
export async function runMcpTool({ command, args }: McpTool, more: readonly string[]): Promise<ToolRun> {
  const child = spawn(command, [...args, ...more], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close') as Promise<[number | null]>;
  let stdout = '';
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = await ended;
  return { code, stdout, output };
}
