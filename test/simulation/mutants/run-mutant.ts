import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { MUTANT_VARIABLE } from './switch.js';

const HOOK = new URL('./with-mutant.js', import.meta.url).href;
const SIMULATION = fileURLToPath(new URL('../main.js', import.meta.url));

/** A mutant may wait or loop for ever. Nothing else should take that long, so that the bound changes no result. */
const HANGS_AFTER_MS = 15 * 60_000;
/** Of what a child writes only the end is of interest. */
const MAX_KEPT = 20_000;

export interface Found {
  readonly seed: number;
  readonly invariant: number;
  readonly message: string;
  readonly step: number;
}

export type Outcome =
  | { readonly kind: 'found'; readonly found: Found }
  | { readonly kind: 'survived' }
  | { readonly kind: 'hangs' }
  /** It did not come to a verdict; `said` is the end of what it wrote. */
  | { readonly kind: 'error'; readonly said: string };

export interface Seeds {
  readonly seeds: number;
  readonly from: number;
}

/** Runs the simulation over the seeds, one after another, with this mutant in core, until one of them finds something. */
export function runMutant(name: string, { seeds, from }: Seeds): Promise<Outcome> {
  const args = ['--import', HOOK, SIMULATION, '--until-found', '--json', '--threads', '1', '--seeds', String(seeds), '--from', String(from)];
  const child = spawn(process.execPath, args, { env: { ...process.env, [MUTANT_VARIABLE]: name }, stdio: ['ignore', 'pipe', 'pipe'] });
  let [answer, complaint] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => { answer = end(answer + text); });
  child.stderr.setEncoding('utf8').on('data', (text: string) => { complaint = end(complaint + text); });
  return new Promise((resolve, reject) => {
    let hangs = false;
    const bound = setTimeout(() => { hangs = true; child.kill('SIGKILL'); }, HANGS_AFTER_MS);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(bound);
      resolve(hangs ? { kind: 'hangs' } : verdict(code, answer, complaint));
    });
  });
}

/** The last line of the answer is the verdict, and the exit code says the same. */
function verdict(code: number | null, answer: string, complaint: string): Outcome {
  const result = parsed(answer.trimEnd().split('\n').at(-1) ?? '');
  // Number 0 is no invariant: the run itself broke down, which proves nothing about the check.
  if (result?.found?.invariant === 0) return { kind: 'error', said: result.found.message };
  if (code === 0 && result?.found) return { kind: 'found', found: result.found };
  if (code === 1 && result?.found === null) return { kind: 'survived' };
  return { kind: 'error', said: `exit code ${code}: ${complaint.trim() || answer.trim()}` };
}

function parsed(line: string): { readonly found: Found | null } | undefined {
  try {
    return JSON.parse(line) as { readonly found: Found | null };
  } catch {
    return undefined;
  }
}

function end(text: string): string {
  return text.slice(-MAX_KEPT);
}
