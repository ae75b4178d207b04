/** `npm run proto`: runs buf with its arguments in the project's folder, and installs it first where it is absent. */
import { bufProgram } from './buf.js';

const { code, text } = (await bufProgram())(process.argv.slice(2));
process.stdout.write(text);
process.exitCode = code;
