// Goal: the proto files follow the usual conventions and stay compatible with the published ones, and the types that
// the program is built with are generated from them.
// Method: buf's own lint; buf's own comparison with the published files, for the files and for copies with one change
// each; everything is generated again into another folder and compared, file by file.
import { fromBinary, toJson } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parse } from 'yaml';
import { loadDescriptors } from '../../../apps/grpc/reflection.js';
import { type Buf, bufProgram } from '../../servers/buf/buf.js';
import { orSkip } from '../../servers/server-absent.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const GENERATED = join(ROOT, 'apps/grpc/generated');

let program: Buf;

/** The faults that it reports, or nothing. */
function buf(...args: readonly string[]): string {
  const { code, text } = program(args);
  return code === 0 ? '' : text || `buf ended with ${code}`;
}

const breaking = (folder: string): string => buf('breaking', folder, '--against', 'proto/published.yaml');

/** The breaking changes reported when one text of a proto file is replaced. */
function breakingWith(file: string, from: string, to: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-proto-'));
  try {
    cpSync(join(ROOT, 'proto'), folder, { recursive: true });
    const path = join(folder, 'darkroom/v1', file);
    const text = readFileSync(path, 'utf8');
    expect(text.split(from), `${from} in ${file}`).to.have.length(2);
    writeFileSync(path, text.replace(from, to));
    return breaking(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function filesIn(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .toSorted();
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

/** Options of files are for generators of code. */
function jsonOf(file: FileDescriptorProto): unknown {
  return toJson(FileDescriptorProtoSchema, { ...file, options: undefined });
}

describe('the proto files', () => {
  before(async function find() {
    program = await orSkip(this, bufProgram());
  });

  it('pass the linter', () => expect(buf('lint', 'proto')).to.equal(''));

  it('generate the types that are checked in; `npm run proto` regenerates them', () => {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-proto-'));
    try {
      const template = readFileSync(join(ROOT, 'proto/buf.gen.yaml'), 'utf8')
        .replace('out: apps/grpc/generated', `out: ${folder}`)
        .replace('clean: true\n', '');
      expect(buf('generate', '--template', JSON.stringify(parse(template)))).to.equal('');
      const [anew, checkedIn] = [filesIn(folder), filesIn(GENERATED)];
      expect([...anew.keys()]).to.deep.equal([...checkedIn.keys()]);
      for (const [name, text] of anew) expect(text === checkedIn.get(name), name).to.equal(true);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('are described to tools as buf describes them, the health service included', () => {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-proto-'));
    try {
      const image = join(folder, 'image.binpb');
      expect(buf('build', 'proto', '--as-file-descriptor-set', '--exclude-source-info', '-o', image)).to.equal('');
      const { file: built } = fromBinary(FileDescriptorSetSchema, readFileSync(image));
      const described = new Map(loadDescriptors().map((file) => [file.name, file]));
      expect(built.map(({ name }) => name)).to.include('grpc/health/v1/health.proto');
      for (const file of built) {
        const own = described.get(file.name);
        expect(own && jsonOf(own), file.name).to.deep.equal(jsonOf(file));
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('stay compatible for callers; CONTRIBUTING.md says what to do otherwise', () =>
    expect(breaking('proto')).to.equal(''));

  const BREAKING: Readonly<Record<string, readonly [file: string, from: string, to: string, says: string]>> = {
    'a field is gone': [
      'generations.proto',
      'int64 charged_credits = 12;',
      'reserved 12;',
      'field "12" with name "charged_credits"',
    ],
    'a field has another number': [
      'generations.proto',
      'int64 charged_credits = 12;',
      'int64 charged_credits = 112;',
      'field "12" with name "charged_credits"',
    ],
    'a field has another type': [
      'generations.proto',
      'int64 charged_credits = 12;',
      'string charged_credits = 12;',
      'from "int64" to "string"',
    ],
    'a field has another name, and so another JSON': [
      'generations.proto',
      'int64 charged_credits = 12;',
      'int64 cost_credits = 12;',
      '"charged_credits" to "cost_credits"',
    ],
    'a value of an enum is gone': [
      'generations.proto',
      'GENERATION_STATUS_CANCELLED = 5;',
      'GENERATION_STATUS_EXPIRED = 6;',
      'value "5" on enum "GenerationStatus"',
    ],
    'a method is gone': [
      'operations.proto',
      'rpc RunRecovery(RunRecoveryRequest) returns (RunRecoveryResponse);',
      '',
      'RPC "RunRecovery"',
    ],
    'a stream is an answer': [
      'generations.proto',
      'returns (stream WatchGenerationResponse)',
      'returns (WatchGenerationResponse)',
      'server streaming',
    ],
  };
  for (const [what, [file, from, to, says]] of Object.entries(BREAKING)) {
    it(`are incompatible when ${what}`, () => expect(breakingWith(file, from, to)).to.include(says));
  }

  it('may grow: a field, a value, a method', () => {
    expect(
      breakingWith(
        'generations.proto',
        'int64 charged_credits = 12;',
        'int64 charged_credits = 12;\n  string label = 99;',
      ),
    ).to.equal('');
    expect(
      breakingWith(
        'generations.proto',
        'GENERATION_STATUS_CANCELLED = 5;',
        'GENERATION_STATUS_CANCELLED = 5;\n  GENERATION_STATUS_EXPIRED = 6;',
      ),
    ).to.equal('');
    expect(
      breakingWith(
        'operations.proto',
        'service Operations {',
        'service Operations {\n  rpc RunAgain(RunRecoveryRequest) returns (RunRecoveryResponse);',
      ),
    ).to.equal('');
  });
});
