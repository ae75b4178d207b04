import { hasRecorded, measure, RECORDED_FOLDER, recordedFiles } from './recorded.js';

/** Prints what becomes of each recorded schema: `node dist/test/adapters/model-import/main.js [--all]`. */
async function main(args: readonly string[]): Promise<void> {
  if (!hasRecorded()) {
    process.stderr.write(`There are no recorded schemas in ${RECORDED_FOLDER}.\n`);
    process.exitCode = 1;
    return;
  }
  const measured = await Promise.all(recordedFiles().map((one) => measure(one, args.includes('--all'))));
  for (const { file, isWhole, outcome, why = '', heldCount, heldFaults, catalogFaults } of measured) {
    const check = outcome === 'refused' ? why : (catalogFaults[0] ?? heldFaults[0] ?? 'check ok');
    const notes = isWhole ? '' : ' (not recorded whole)';
    process.stdout.write(`${outcome.padEnd(8)} ${String(heldCount).padStart(3)} requests  ${file}${notes}  ${check}\n`);
  }
  const counted = measured.filter(({ isWhole, needsOther }) => isWhole && !needsOther);
  const imported = counted.filter(({ outcome }) => outcome !== 'refused');
  const asked = imported.filter(({ outcome }) => outcome === 'question');
  const held = measured.reduce((sum, { heldCount }) => sum + heldCount, 0);
  process.stdout.write(
    `${imported.length} of ${counted.length} models that can run and were recorded whole are imported, ${asked.length} of them with a question; ${held} requests were held against schemas.\n`,
  );
}

await main(process.argv.slice(2));
