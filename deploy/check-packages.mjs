#!/usr/bin/env node
/**
 * Checks what npm has installed, as npm 10 may end with exit code 0 and empty packages when the network fails: every
 * package of the lock file must be there in its version, with the files that its package.json names. Exits with 1 and one
 * sentence otherwise. It uses no package itself.
 *
 *   node deploy/check-packages.mjs [--omit=dev] [--import] [FOLDER]
 *
 * FOLDER is where package-lock.json is, by default the current one. --omit=dev is what npm ci was given. --import also
 * loads every package that package.json has among its dependencies, and so their binaries.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

const options = process.argv.slice(2);
const folder = resolve(options.find((option) => !option.startsWith('--')) ?? '.');
const omitsDev = options.includes('--omit=dev');

try {
  const checked = checkFiles();
  if (options.includes('--import')) checkImports();
  console.log(`check-packages: ${checked} packages are complete`);
} catch (error) {
  console.error(`check-packages: ${error.message}`);
  process.exitCode = 1;
}

/** Returns the number of packages. Throws one sentence with the number of faulty ones, and the first of them. */
function checkFiles() {
  const { packages } = readJson(join(folder, 'package-lock.json'));
  const expected = Object.entries(packages).filter(([path, entry]) => path !== '' && isExpected(path, entry));
  const faults = expected.flatMap(([path, entry]) => {
    const fault = faultOf(join(folder, path), nameOf(path, entry), entry);
    return fault === undefined ? [] : [`${path} ${fault}`];
  });
  if (faults.length === 0) return expected.length;
  throw new Error(
    `${faults.length} of ${expected.length} packages in ${folder} are not installed completely (${faults[0]}); run npm ci again.`,
  );
}

/**
 * Whether npm must have installed a package. Of the optional ones these are the binaries for this platform: npm leaves
 * one out without an error if it cannot be fetched, and then the package that needs it does not work.
 */
function isExpected(path, { dev, optional, devOptional, os, cpu, libc }) {
  if (omitsDev && (dev || devOptional)) return false;
  if (existsSync(join(folder, path))) return true;
  if (!optional && !devOptional) return true;
  if (os === undefined || cpu === undefined) return false;
  return names(os, process.platform) && names(cpu, process.arch) && (libc === undefined || names(libc, libcHere()));
}

/** Whether a list of package.json names a value; those with `!` in front exclude it. */
function names(list, value) {
  return list.includes(value) || (list.every((name) => name.startsWith('!')) && !list.includes(`!${value}`));
}

function libcHere() {
  return process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

function nameOf(path, { name }) {
  return name ?? path.split('node_modules/').at(-1);
}

/** What is wrong with a package; undefined if nothing is. */
function faultOf(at, name, { version, link }) {
  if (!existsSync(at)) return 'is missing';
  if (readdirSync(at).length === 0) return 'is empty';
  let manifest;
  try {
    manifest = readJson(join(at, 'package.json'));
  } catch {
    return 'has no package.json that can be read';
  }
  if (manifest.name !== name || (!link && manifest.version !== version))
    return `is ${manifest.name} ${manifest.version} in place of ${name} ${version}`;
  const { main, bin = {} } = manifest;
  const files = [...(main ? [main] : []), ...(typeof bin === 'string' ? [bin] : Object.values(bin))];
  const missing = files.find((file) => !isModule(join(at, file)));
  if (missing !== undefined) return `has no ${missing}`;
  return readdirSync(at).some((file) => !/^(package\.json|readme|license|changelog)/i.test(file))
    ? undefined
    : 'has nothing but its package.json';
}

/** Whether Node would find a file for the path: itself, with an ending, or the index of the folder. */
function isModule(path) {
  const candidates = ['', '.js', '.cjs', '.mjs', '.json', '.node', '/index.js', '/index.json', '/index.node'];
  return candidates.some((ending) => statSync(path + ending, { throwIfNoEntry: false })?.isFile());
}

/** Loads every production dependency that is code in a process of its own, which also loads their binaries. */
function checkImports() {
  const { dependencies = {} } = readJson(join(folder, 'package.json'));
  const program = `for (const name of ${JSON.stringify(Object.keys(dependencies))}) {
    try {
      if (/\\.[cm]?js$/.test(import.meta.resolve(name))) await import(name);
    } catch (error) {
      console.log(name + ' cannot be loaded (' + String(error.message).split('\\n')[0] + ')');
      process.exit(1);
    }
  }
  process.exit(0);`;
  try {
    execFileSync(process.execPath, ['--input-type=module', '--eval', program], { cwd: folder, stdio: 'pipe' });
  } catch (error) {
    const [line] = `${error.stdout ?? ''}`.trim().split('\n').slice(-1);
    throw new Error(`${line || `The packages in ${folder} cannot be loaded`}; run npm ci again.`, { cause: error });
  }
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const reason = error.code ?? 'it is not JSON';
    throw new Error(`${file} cannot be read (${reason}); run npm ci in its folder.`, { cause: error });
  }
}
