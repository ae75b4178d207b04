// Goal: the proto files are as the field writes them, and the types the program is built with are those of the proto files.
// Method: buf's own lint; and everything generated anew into another folder and compared, file by file.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const GENERATED = join(ROOT, 'apps/grpc/generated');

/** What it complains about, or nothing. */
function buf(...args: readonly string[]): string {
  const env = { ...process.env, PATH: [join(ROOT, 'node_modules/.bin'), process.env['PATH']].join(delimiter) };
  try {
    execFileSync('buf', args, { cwd: ROOT, env, stdio: 'pipe' });
    return '';
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: Buffer; readonly stderr: Buffer };
    return `${stdout.toString()}${stderr.toString()}` || String(error);
  }
}

function filesIn(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts')).toSorted();
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

describe('the proto files', () => {
  it('are in order', () => expect(buf('lint', 'proto')).to.equal(''));

  it('give the types that are checked in; `npm run proto` makes them anew', () => {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-proto-'));
    try {
      const template = readFileSync(join(ROOT, 'proto/buf.gen.yaml'), 'utf8').replace('out: apps/grpc/generated', `out: ${folder}`).replace('clean: true\n', '');
      expect(buf('generate', '--template', JSON.stringify(parse(template)))).to.equal('');
      const [anew, checkedIn] = [filesIn(folder), filesIn(GENERATED)];
      expect([...anew.keys()]).to.deep.equal([...checkedIn.keys()]);
      for (const [name, text] of anew) expect(text === checkedIn.get(name), name).to.equal(true);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
