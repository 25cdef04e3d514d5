// The picture of a PushT scene.
#pragma once

#include "lerobot/env/observation.hpp"
#include "pusht_physics.hpp"

namespace lerobot::env {

// 512 x 512: goal, block, agent, walls and contacts, with the pixels of gym_pusht 0.1.8 drawing through pygame 2.6.
Image draw_pusht(const PushTScene& scene);

// A red cross at `action` on a picture of the arena in any size: cv2.drawMarker as gym_pusht calls it. There, x is
// scaled by the picture's height and y by its width; a side below 96 has lines of one pixel here, and is refused there.
void draw_action_marker(Image& image, Point action);

}  // namespace lerobot::env
