// Goal: a program over MongoDB is notified of every write of another one if the server has change streams, and reports
// that it cannot be if the server has none.
// Method: two programs as the wiring opens them, over each choice of stores; one follows what the other writes in quick
// succession, faster than reading twice per second could see.
import { expect } from 'chai';
import type { Program } from '../../apps/wiring/open-program.js';
import { until } from '../fixtures/clocks.js';
import { aGeneration, uuidAt } from '../fixtures/stored-records.js';
import { LANES } from './lanes.js';
import { LiveService } from './live-service.js';

const VERSIONS = Array.from({ length: 50 }, (_, version) => version + 1);

for (const lane of LANES)
  describe(`writes of another program: ${lane.name}`, () => {
    let service: LiveService | undefined;
    const programs: Program[] = [];
    before(async function lanes() {
      service = await LiveService.prepare({ lane: await lane.open(this) });
    });
    after(async () => {
      for (const program of programs.splice(0)) await program.close();
      await service?.remove();
    });

    async function open(): Promise<Program> {
      const program = await (service as LiveService).open();
      programs.push(program);
      return program;
    }

    const hears = lane.reportsChanges;
    it(hears ? 'are all told' : 'are not told by the database', async () => {
      const reader = await open();
      expect(reader.generationChanges !== undefined).to.equal(hears);
      if (reader.generationChanges === undefined) return;
      let isOpen = false;
      const told: number[] = [];
      const stops = [
        reader.generationChanges.follow({
          opened: () => (isOpen = true),
          interrupted: () => undefined,
          written: () => undefined,
        }),
        reader.context.generationWatch.follow(uuidAt(1), (record) => told.push(record?.version ?? -1)),
      ];
      await until(() => isOpen);
      const { generations } = (await open()).context;
      const first = aGeneration(1);
      await generations.insert(first);
      for (const version of VERSIONS) await generations.replace({ ...first, version }, version - 1);
      await until(() => told.includes(VERSIONS.length));
      for (const stop of stops) stop();
      expect([...new Set(told)].filter((version) => version > 0)).to.deep.equal(VERSIONS);
    });
  });
