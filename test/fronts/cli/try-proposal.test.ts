/*
 * Goal: `--try` runs a proposal once on the server and shows each file that it makes, or reports in one sentence why it
 * failed.
 * Method: the command line on a fake of ComfyUI; the files that it names are read, and the fake's runs are checked.
 */
import { expect } from 'chai';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { readImageHeader } from '../../../core/media/image-header.js';
import { EDIT, folderWith, LONG, STILL, VIDEO } from '../../adapters/providers/comfyui/workflows.js';
import { CliRun } from '../../harness/cli-run.js';
import { ComfyUiFake } from '../../providers/fakes/comfyui-fake.js';

describe('a proposal that is tried', () => {
  let fake: ComfyUiFake;
  let folder: string;
  const removals: (() => void)[] = [];
  beforeEach(async () => {
    fake = await ComfyUiFake.open();
    const missing = { ...STILL, 7: { class_type: 'NoSuchNode', inputs: {} } };
    const opened = folderWith({
      'still.json': STILL,
      'video.json': VIDEO,
      'edit.json': EDIT,
      'long.json': LONG,
      'missing.json': missing,
    });
    folder = opened.folder;
    removals.push(opened.remove);
  });
  afterEach(async () => {
    await fake.close();
    for (const remove of removals.splice(0)) remove();
  });

  const importing = (file: string, ...more: readonly string[]) =>
    new CliRun(folder, ['comfyui', 'import', file, '--try', '--base-url', fake.url, ...more]);

  /** The paths that a run has shown; their folder is removed in the end. */
  function shownPaths(text: string): readonly string[] {
    const paths = [...text.matchAll(/^ {2}(\/\S+) {2}/gm)].map(([, path]) => path!);
    for (const path of paths) removals.push(() => rmSync(dirname(path), { recursive: true, force: true }));
    return paths;
  }

  it('shows the path, the type, the size and the pixels of a picture, beside the proposal', async () => {
    const plain = await new CliRun(folder, ['comfyui', 'import', 'still.json']).ended;
    const ran = await importing('still.json').ended;
    const [path] = shownPaths(ran.stderr);
    expect(ran).to.include({ code: 0, stdout: plain.stdout });
    const bytes = readFileSync(path!);
    expect(ran.stderr).to.include(`Tried once: one file in all.\n  ${path}  image/png, ${bytes.length} bytes, 64x48\n`);
    expect(readImageHeader(bytes)).to.include({ widthPx: 64, heightPx: 48 });
    expect(fake.queue.runs).to.have.length(1);
    expect(readdirSync(folder)).to.have.length(5);
  });

  it('shows a video, and fills places for files with plain pictures', async () => {
    const video = await importing('video.json').ended;
    const [path] = shownPaths(video.stderr);
    expect(video.stderr).to.include(`${path}  video/mp4, ${statSync(path!).size} bytes\n`);
    const edited = await importing('edit.json').ended;
    expect([edited.code, shownPaths(edited.stderr).length]).to.deep.equal([0, 1]);
    expect(edited.stderr).to.include(', 512x512\n');
  });

  it('is written by init and tried, also as JSON', async () => {
    const args = ['init', '--provider', 'comfyui', '--import', 'still.json', '--base-url', fake.url, '--try', '--json'];
    const ran = await new CliRun(folder, args).ended;
    expect(ran.code, ran.stderr).to.equal(0);
    const { tried } = JSON.parse(ran.stdout) as { tried: { path: string }[] };
    for (const { path } of tried) removals.push(() => rmSync(dirname(path), { recursive: true, force: true }));
    expect(tried).to.have.length(1);
    expect(tried[0]).to.include({ kind: 'image', media_type: 'image/png', size: '64x48' });
    expect(readdirSync(folder)).to.include.members(['darkroom.yaml', 'catalog.yaml']);
  });

  it('is not submitted where the server lacks a node, and the files of init are kept', async () => {
    const ran = await importing('missing.json').ended;
    expect(ran.code).to.equal(1);
    expect(ran.stderr).to.match(
      /The proposal cannot be tried: missing\.json at \S+: the node 7 \(NoSuchNode\) is of a class that the server does not have\.\n$/,
    );
    expect(fake.tasks).to.equal(0);
    const args = ['init', '--provider', 'comfyui', '--import', 'missing.json', '--base-url', fake.url, '--try'];
    const written = await new CliRun(folder, args).ended;
    expect(written).to.include({ code: 1, stdout: '' });
    expect(written.stderr).to.include('darkroom.yaml and catalog.yaml were written and are kept.\n');
    expect(readdirSync(folder)).to.include.members(['darkroom.yaml', 'catalog.yaml']);
  });

  it('reports what broke, with the node', async () => {
    fake.queue.breakage = { node: '1', exceptionType: 'torch.OutOfMemoryError' };
    const ran = await importing('still.json').ended;
    expect(ran.code).to.equal(1);
    expect(ran.stderr)
      .to.include('"at":"node 1 (EmptyImage)"')
      .and.to.match(/darkroom: The task failed: [^\n]+\.\n$/);
  });

  it('is cancelled by Ctrl-C', async () => {
    const run = importing('long.json');
    await run.until('stderr', 'Trying long once');
    while (fake.queue.running === undefined) await new Promise((resolve) => setImmediate(resolve));
    run.signal('SIGINT');
    expect(await run.ended).to.include({ code: 130 });
    expect(run.stderr).to.include('Interrupted; the task was cancelled.');
    expect(fake.queue.running).to.equal(undefined);
  });

  it('needs an address and a file', async () => {
    const cases: readonly (readonly [args: readonly string[], sentence: RegExp])[] = [
      [['comfyui', 'import', 'still.json', '--try'], /--try needs --base-url, which says where the server is\.$/],
      [['comfyui', 'import', 'still.json', '--base-url', fake.url], /--base-url and --api-key-file are for --try\.$/],
      [
        ['comfyui', 'import', 'still.json', '--try', '--base-url', 'ftp://x'],
        /--base-url must list 1 to 64 http or https URLs/,
      ],
      [
        ['init', '--provider', 'comfyui', '--model', 'sdxl', '--base-url', fake.url, '--try'],
        /--try needs --import, which names the file that is tried\.$/,
      ],
      [['init', '--try'], /--base-url, --model, --import, --try and --api-key-file need --provider/],
    ];
    for (const [args, sentence] of cases) {
      const ran = await new CliRun(folder, args).ended;
      expect(ran.code, args.join(' ')).to.equal(2);
      expect(ran.stderr.trimEnd()).to.match(sentence);
    }
    expect(fake.tasks).to.equal(0);
  });

  it('fails where nothing listens', async () => {
    const args = ['comfyui', 'import', 'still.json', '--try', '--base-url', 'http://127.0.0.1:9'];
    const ran = await new CliRun(folder, args).ended;
    expect(ran.code).to.equal(1);
    expect(ran.stderr).to.match(/^darkroom: The proposal cannot be tried: [^\n]+\n$/);
  });
});
