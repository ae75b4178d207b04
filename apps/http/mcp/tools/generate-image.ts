import { generateTool } from './generate.js';

export const generateImage = generateTool('image_generation', {
  name: 'generate_image',
  title: 'Generate images',
  description:
    'Makes images from a prompt and spends credits. Waits for the result; if it takes longer, the answer has the generation_id for get_generation. Show the links to the full files to the person.',
});
