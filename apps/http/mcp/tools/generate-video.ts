import { generateTool } from './generate.js';

export const generateVideo = generateTool('video_generation', {
  name: 'generate_video',
  title: 'Generate a video',
  description:
    'Makes a video from a prompt and spends credits. This often takes minutes: the answer then has the generation_id for get_generation. Show the link to the full file to the person.',
});
