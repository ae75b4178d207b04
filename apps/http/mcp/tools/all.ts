import type { Tool } from '../tool.js';
import { cancelGeneration } from './cancel-generation.js';
import { completeUpload } from './complete-upload.js';
import { estimateGeneration } from './estimate-generation.js';
import { generateImage } from './generate-image.js';
import { generateVideo } from './generate-video.js';
import { getCredits } from './get-credits.js';
import { getGeneration } from './get-generation.js';
import { listModels } from './list-models.js';
import { prepareUpload } from './prepare-upload.js';

/** Every tool, in the order of the list, which is part of what clients keep. */
export const TOOLS: readonly Tool[] = [
  listModels,
  getCredits,
  estimateGeneration,
  generateImage,
  generateVideo,
  getGeneration,
  cancelGeneration,
  prepareUpload,
  completeUpload,
];

export function findTool(name: unknown): Tool | undefined {
  return TOOLS.find((tool) => tool.name === name);
}
