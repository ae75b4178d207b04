// Goal: the oldest and the newest library `openai` that run on this Node work with the program, as the one in
// library.test.ts does.
// Method: the same suite. Without the packages it is skipped with a message.
import type { OpenAI } from 'openai';
import { orSkip } from '../foreign-clients.js';
import { openAiSuite } from './openai-suite.js';
import { OPENAI_PACKAGES } from './openai-tools.js';

for (const { release, hasVideos } of [
  { release: 4, hasVideos: false },
  { release: 7, hasVideos: true },
])
  openAiSuite({
    name: `openai ${release}`,
    hasVideos,
    open: (suite) =>
      orSkip(suite, async () => (await OPENAI_PACKAGES.load<{ default: typeof OpenAI }>(`openai-${release}`)).default),
  });
