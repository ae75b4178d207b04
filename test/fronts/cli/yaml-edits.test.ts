/**
 * Goal: a change of a YAML file adds or takes one entry, and leaves every other value, comment and line as it was.
 * Method: files in the styles that people write; the result is compared as text, and its values as YAML.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { Document, parse } from 'yaml';
import { isFlow, withEntries, withEntry, yamlLines } from '../../../apps/cli/yaml-edits.js';
import { forAllSync } from '../../harness/for-all.js';

const SIZES = ['1x1', '2x2'];
const MODEL = { model_key: 'new', price: 4, provider_settings: { fields: { seed: { parameter: 'seed' } } } };
const ENTRY = { value: MODEL, lines: yamlLines(MODEL), comments: ['Proposed.'] };
const SECTION = { name: 'fal', value: { kind: 'fal' }, lines: yamlLines({ fal: { kind: 'fal' } }, false) };

const WRITTEN = `  # Proposed.
  - model_key: new
    price: 4
    provider_settings:
      fields:
        seed: { parameter: seed }
`;

/** Files with the models old and, in most of them, older; each has comments that must stay. */
const CATALOGS: Readonly<Record<string, string>> = {
  'two models, comments and a last line': `# Ours.
version: 1 # the format
models:
  # The first.
  - model_key: old
    price: 1 # cheap

  - model_key: older
    text: |
      lines

      more
    # A note of older.
# The end.
`,
  'no indentation': 'version: 1\nmodels:\n- model_key: old\n  price: 1\n- model_key: older',
  'flow style': 'version: 1\nmodels: [{ model_key: old }, { model_key: older }] # all\n',
  'flow style over lines': '{\n  "version": 1,\n  "models": [\n    { "model_key": "old" }\n  ]\n}\n',
  'line breaks of Windows': 'version: 1\r\nmodels:\r\n  - model_key: old\r\n    # Deep.\r\n# The end.\r\n',
  'models above another key':
    'models:\n  - model_key: old\n  - model_key: older\n    a: &x [1]\n    b: *x\n\n# About.\nversion: 1\n',
  'a dash on its own line': 'version: 1\nmodels:\n  -\n    model_key: old\n  - # why\n    model_key: older\n',
  'no models': 'version: 1\n# None yet.\nmodels: [] # empty\n',
  'nothing under models': 'version: 1\nmodels:\n# The end.\n',
};

interface Catalog {
  readonly models: readonly object[] | null;
}

function commentsOf(text: string): readonly string[] {
  return text.match(/#[^\n\r]*/g) ?? [];
}

describe('an entry added to a list', () => {
  for (const [name, text] of Object.entries(CATALOGS)) {
    it(`leaves all else as it was, with ${name}`, () => {
      const added = withEntry(text, ['models'], ENTRY);
      const before = parse(text) as Catalog;
      expect(parse(added)).to.deep.equal({ ...before, models: [...(before.models ?? []), MODEL] });
      expect(commentsOf(added).filter((comment) => comment !== '# Proposed.')).to.deep.equal(commentsOf(text));
      expect(added.includes('\r\n')).to.equal(text.includes('\r\n'));
    });
  }

  it('follows the comments of the last entry, as deep as the others', () => {
    const [text = ''] = Object.values(CATALOGS);
    const [head, tail] = text.split('# The end.\n');
    expect(withEntry(text, ['models'], ENTRY)).to.equal(`${head}\n${WRITTEN}# The end.\n${tail}`);
  });
});

describe('an entry taken from a list', () => {
  for (const [name, text] of Object.entries(CATALOGS).filter(
    ([, one]) => !/models: \[|"models"|models:\n#/.test(one),
  )) {
    it(`is gone with its comments, and an added one leaves the text as it was, with ${name}`, () => {
      const added = withEntry(text, ['models'], ENTRY);
      const { models } = parse(added) as Catalog;
      const last = (models?.length ?? 0) - 1;
      const whole = text.endsWith('\n') ? text : `${text}\n`;
      expect(withEntries(added, ['models'], (index) => index !== last)).to.equal(whole);
      const without = withEntries(added, ['models'], (index) => index !== 0);
      expect((parse(without) as Catalog).models).to.deep.equal(models?.slice(1));
      expect(commentsOf(without)).to.include('# Proposed.');
    });
  }

  it('takes the comments above it and deeper ones below it, and no others', () => {
    const [text = ''] = Object.values(CATALOGS);
    const without = withEntries(text, ['models'], (index) => index !== 1);
    expect(commentsOf(without)).to.deep.equal(['# Ours.', '# the format', '# The first.', '# cheap', '# The end.']);
  });
});

describe('a section added to a configuration', () => {
  const FILES: Readonly<Record<string, readonly [text: string, expected: string]>> = {
    'no text': ['', 'providers:\n  fal:\n    kind: fal\n'],
    'only comments': ['# Ours.\n', '# Ours.\nproviders:\n  fal:\n    kind: fal\n'],
    'another section': ['rest:\n  port: 1 # local', 'rest:\n  port: 1 # local\nproviders:\n  fal:\n    kind: fal\n'],
  };
  for (const [name, [text, expected]] of Object.entries(FILES)) {
    it(`stands at the end, with ${name}`, () => {
      const value = { fal: { kind: 'fal' } };
      const providers = { name: 'providers', value, lines: yamlLines({ providers: value }, false) };
      expect(withEntry(text, [], providers)).to.equal(expected);
    });
  }

  it('is as deep as the sections beside it', () => {
    const text = 'providers:\n    own:\n        kind: cog # mine\n    # below own\n\nrest: {}\n';
    expect(withEntry(text, ['providers'], SECTION)).to.equal(
      'providers:\n    own:\n        kind: cog # mine\n    fal:\n      kind: fal\n    # below own\n\nrest: {}\n',
    );
  });

  it('takes the place of an empty value', () => {
    expect(withEntry('providers: # none\nrest: {}\n', ['providers'], SECTION)).to.equal(
      'providers: # none\n  fal:\n    kind: fal\nrest: {}\n',
    );
    expect(withEntry('providers: {}\n', ['providers'], SECTION)).to.equal('providers: \n  fal:\n    kind: fal\n');
    expect(withEntry('providers: { own: { kind: cog } }\n', ['providers'], SECTION)).to.equal(
      'providers: { own: { kind: cog }, "fal": {"kind":"fal"} }\n',
    );
  });
});

describe('a value as lines of YAML', () => {
  it('has its own copy in each place, without anchors', () => {
    const lines = yamlLines({ schema: { size: { enum: SIZES } }, fields: { size: { enum: SIZES } } }).join('\n');
    expect(lines).not.to.match(/[&*]/);
    expect(parse(lines)).to.deep.equal({ schema: { size: { enum: SIZES } }, fields: { size: { enum: SIZES } } });
  });

  it('reads as the same texts again, whatever they mean in YAML', () => {
    const texts = [
      'no',
      'on',
      '~',
      'null',
      '---',
      '# x',
      '&a',
      '*a',
      '1e3',
      '0x1F',
      '1:30',
      '',
      ' x',
      '- a',
      '<<',
      'a: b',
      '"q"',
      '%a',
    ];
    for (const isCompact of [true, false])
      expect(parse(yamlLines({ texts, [texts[0] ?? '']: { '---': '...' } }, isCompact).join('\n'))).to.deep.equal({
        texts,
        no: { '---': '...' },
      });
  });
});

describe('changes of any file', () => {
  const TEXTS = ['a', 'no', '---', '# x', 'models:', 'a: b', 'l1\nl2\n', ' lead', '', '- x', '...', '|', '\ttab'];
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      fc.constantFrom<unknown>(1, true, null, ...TEXTS),
      fc.array(tie('any'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('k0', 'k1'), tie('any')),
    ),
  })).any;
  const style = fc.record({
    indent: fc.constantFrom(2, 4),
    indentSeq: fc.boolean(),
    lineWidth: fc.constantFrom(0, 20, 80),
    collectionStyle: fc.constantFrom('any' as const, 'block' as const),
    defaultStringType: fc.constantFrom('PLAIN', 'QUOTE_DOUBLE', 'BLOCK_LITERAL'),
  });
  const lines = fc.array(fc.tuple(fc.nat(40), fc.constantFrom('', '# c', '    # deep', '  ')), { maxLength: 4 });
  const ends = fc.record({
    newLine: fc.constantFrom('\n', '\r\n'),
    start: fc.constantFrom('', '\uFEFF', '# ours\n'),
    end: fc.constantFrom('', '\n', '...\n', '# end\n'),
  });

  it('leave the values of all other places, and take back what they added', () =>
    forAllSync(
      150,
      [fc.array(value, { minLength: 1, maxLength: 3 }), value, style, lines, ends],
      (values, other, form, inserted, { newLine, start, end }) => {
        const models = values.map((x, index) => ({ model_key: `m${index}`, x }));
        const written = new Document({ version: 1, models, other }).toString(form).split('\n');
        for (const [at, line] of inserted) written.splice(at % (written.length + 1), 0, line);
        const text = `${start}${written.join(newLine)}${end}`;
        const before = valueOf(text);
        // A line that was put into a text may have changed it, or made it no YAML.
        if (!isCatalog(before)) return;
        const added = { model_key: 'new', other };
        const after = withEntry(text, ['models'], { value: added as never, lines: yamlLines(added as never) });
        expect(valueOf(after), text).to.deep.equal({ ...before, models: [...before.models, added] });
        if (isFlow(after, ['models'])) return;
        const removed = withEntries(after, ['models'], (index) => index !== before.models.length);
        expect(valueOf(removed), after).to.deep.equal(before);
      },
    ));

  function valueOf(text: string): unknown {
    try {
      return parse(text);
    } catch {
      return undefined;
    }
  }

  function isCatalog(read: unknown): read is { readonly models: readonly object[] } {
    return Array.isArray((read as { readonly models?: unknown } | undefined)?.models);
  }
});
