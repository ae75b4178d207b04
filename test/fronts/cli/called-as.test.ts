import { expect } from 'chai';
import { asCalled, calledAs, readingCommand } from '../../../apps/cli/called-as.js';

// Goal: commands that the program prints can be copied as they are, however the program was called and files are named.
// Method: a table of variables and script paths, and a text with commands and other mentions of the name.

describe('the command that a process was called by', () => {
  const cases: readonly (readonly [
    environment: Readonly<Record<string, string>>,
    script: string,
    command: string,
    why: string,
  ])[] = [
    [{}, '/usr/local/bin/darkroom', 'darkroom', 'installed globally'],
    [{}, '/home/me/app/node_modules/.bin/darkroom', 'npx darkroom', 'installed in a folder'],
    [{ npm_command: 'exec' }, '/home/me/app/node_modules/.bin/darkroom', 'npx darkroom', 'by npx'],
    [
      { npm_command: 'exec' },
      '/home/me/.npm/_npx/9f2/node_modules/.bin/darkroom',
      'npx darkroom-server',
      'by npx without an installation',
    ],
    [{ npm_command: 'start' }, '/checkout/dist/apps/cli/main.js', 'npx darkroom', 'by npm start in a checkout'],
    [{}, '/work/dist/apps/cli/main.js', 'node dist/apps/cli/main.js', 'by node, below the current folder'],
    [{}, '/checkout/dist/apps/cli/main.js', 'node /checkout/dist/apps/cli/main.js', 'by node, from elsewhere'],
    [{}, '/my work/main.js', "node '/my work/main.js'", 'by node, with a blank in the path'],
    [{}, '/$(id)/`id`/main.js', "node '/$(id)/`id`/main.js'", 'by node, with what a shell would run in the path'],
    [{}, "/ada's/main.js", String.raw`node '/ada'\''s/main.js'`, 'by node, with a quote in the path'],
    [{ DARKROOM_COMMAND: 'docker exec darkroom darkroom' }, '/app/main.js', 'docker exec darkroom darkroom', 'set'],
    [{ DARKROOM_COMMAND: '' }, '/usr/bin/darkroom', 'darkroom', 'set to nothing'],
    [{ DARKROOM_COMMAND: 'two\nlines' }, '/usr/bin/darkroom', 'darkroom', 'set to what is not a command'],
  ];
  for (const [environment, script, command, why] of cases)
    it(`is ${command} when it was called ${why}`, () => {
      expect(calledAs(environment, script, '/work')).to.equal(command);
    });

  it('replaces the name in commands only', () => {
    const text =
      'darkroom: run darkroom serve, not darkroom.yaml or /darkroom serve; darkroom models lists darkroom things.';
    expect(asCalled(text, 'npx darkroom', ['serve', 'models'])).to.equal(
      'darkroom: run npx darkroom serve, not darkroom.yaml or /darkroom serve; npx darkroom models lists darkroom things.',
    );
  });
});

describe('a login in a container', () => {
  it('is shown with a terminal, which asks for the key', () => {
    const text = 'run darkroom login --url x, or darkroom models';
    expect(asCalled(text, 'docker exec 4f2a darkroom', ['login', 'models'])).to.equal(
      'run docker exec -it 4f2a darkroom login --url x, or docker exec 4f2a darkroom models',
    );
    expect(asCalled(text, 'darkroom', ['login', 'models'])).to.equal(text);
  });
});

describe('the command that reads a file of the program', () => {
  it('runs in the container of the program', () => {
    expect(readingCommand('npx darkroom', '/home/me/data/first-key')).to.equal("cat '/home/me/data/first-key'");
    expect(readingCommand('darkroom', "/ada's/first-key")).to.equal(String.raw`cat '/ada'\''s/first-key'`);
    expect(readingCommand('docker exec 4f2a darkroom', '/data/first-key')).to.equal(
      "docker exec 4f2a cat '/data/first-key'",
    );
    expect(readingCommand('kubectl exec rest-0 -- darkroom', '/data/first-key')).to.equal(
      "kubectl exec rest-0 -- cat '/data/first-key'",
    );
  });
});
