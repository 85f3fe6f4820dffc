"""The 3D view in a browser: what it shows, by mouse, touch and keys; and the scripts of both viewers."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.reporting.viewer_pages import TEMPLATES, Opened, opened, points_scene, street

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

__all__ = ["opened"]


def pixels(place: Page | Locator) -> NDArray[np.uint8]:
    return np.asarray(Image.open(io.BytesIO(place.screenshot())).convert("RGB"))


FEW = 5000
"""Points of the scenes in tests: software draws them quickly."""


def street_page(opened: Opened, **context: Any) -> Page:
    return opened(points=points_scene(*street(FEW)), **context)


def settle(page: Page) -> None:
    """Wait until no frame is to come."""
    page.evaluate(
        """async () => {
          const frames = () => document.querySelector('.points-view').dataset.frames;
          for (let before = -1; before !== frames() || points.camera.flight;) {
            before = frames();
            for (let i = 0; i < 3; i++) await new Promise(resolve => requestAnimationFrame(resolve));
          }
        }"""
    )


def colours(page: Page) -> int:
    settle(page)
    return len(np.unique(pixels(page.locator("canvas")) @ np.array([1, 256, 65536])))


def test_view_shows_points_in_light_and_dark(opened: Opened) -> None:
    for scheme, ground in (("light", (243, 245, 247)), ("dark", (14, 18, 22))):
        page = street_page(opened, color_scheme=scheme)
        assert colours(page) > 100
        assert tuple(pixels(page.locator("canvas"))[300, 4]) == ground


def test_drag_turns_and_shift_pans(opened: Opened) -> None:
    page = street_page(opened)
    settle(page)
    before, camera = pixels(page.locator("canvas")), "[points.camera.azimuth, ...points.camera.target]"
    first = page.evaluate(camera)
    page.mouse.move(300, 200)
    page.mouse.down()
    page.mouse.move(380, 230, steps=4)
    page.mouse.up()
    turned = page.evaluate(camera)
    assert turned[0] == pytest.approx(first[0] - 80 * 0.006, abs=0.03)
    assert turned[1:] == first[1:]
    settle(page)
    assert (pixels(page.locator("canvas")) != before).any(-1).mean() > 0.02
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(300, 200, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    panned = page.evaluate(camera)
    assert panned[0] == turned[0]
    assert panned[1:3] != turned[1:3]
    assert page.evaluate("chosen") == []


def test_keys_turn_move_and_zoom(opened: Opened) -> None:
    page = street_page(opened)
    canvas = page.locator("canvas")
    state = "(({ azimuth, elevation, distance, target }) => ({ azimuth, elevation, distance, target }))(points.camera)"
    before = page.evaluate(state)
    image = pixels(canvas)
    canvas.focus()
    for key, changed in (
        ("ArrowLeft", "azimuth"),
        ("ArrowUp", "elevation"),
        ("+", "distance"),
        ("-", "distance"),
        ("Shift+ArrowUp", "target"),
    ):
        page.keyboard.press(key)
        after = page.evaluate(state)
        assert [name for name in after if after[name] != before[name]] == [changed], key
        before = after
    settle(page)
    assert (pixels(canvas) != image).any(-1).mean() > 0.02
    assert "8 boxes" in str(canvas.get_attribute("aria-label"))
    page.keyboard.press("Home")
    settle(page)
    assert page.evaluate("points.camera.elevation") == pytest.approx(0.62)


def test_wheel_keeps_the_ground_below_the_pointer(opened: Opened) -> None:
    page = street_page(opened)
    settle(page)
    below = """() => {
      const [eye, direction] = points.camera.ray(0.4, -0.3);
      const reach = (points.camera.target[2] - eye[2]) / direction[2];
      return [eye[0] + reach * direction[0], eye[1] + reach * direction[1]];
    }"""
    box = page.locator("canvas").bounding_box()
    assert box is not None
    distance, ground = page.evaluate("points.camera.distance"), page.evaluate(below)
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.65 * box["height"])
    page.mouse.wheel(0, -300)
    page.wait_for_function(f"() => points.camera.distance < {0.8 * distance}")
    assert page.evaluate(below) == pytest.approx(ground, abs=0.2)


def test_buttons_fly_to_views(opened: Opened) -> None:
    page = street_page(opened, reduced_motion="reduce")
    settle(page)
    before = pixels(page.locator("canvas"))
    for name in ("view from above", "view from the side", "view from behind"):
        page.get_by_role("button", name=name).click()
        settle(page)
        assert (pixels(page.locator("canvas")) != before).any(-1).mean() > 0.02
    page.get_by_role("button", name="first view").click()
    page.mouse.move(1, 1)
    settle(page)
    assert (pixels(page.locator("canvas")) != before).any(-1).mean() < 0.01


def test_click_selects_the_box_and_flies_to_it(opened: Opened) -> None:
    page = street_page(opened)
    canvas = page.locator("canvas")
    settle(page)
    box = canvas.bounding_box()
    assert box is not None
    for number in (3, 1):
        x, y = page.evaluate(
            "number => points.camera.project(scenes.points.objects[number].cuboid.slice(0, 3))", number
        )
        canvas.click(position={"x": (x + 1) / 2 * box["width"], "y": (1 - y) / 2 * box["height"]})
        assert page.evaluate("chosen.at(-1)") == number
        settle(page)
        assert page.evaluate("points.camera.target") == pytest.approx(
            page.evaluate("number => scenes.points.objects[number].cuboid.slice(0, 3)", number)
        )
        page.get_by_role("button", name="first view").click()
        settle(page)
    canvas.click(position={"x": 5, "y": 120})
    assert page.evaluate("chosen.at(-1)") is None


def test_second_click_takes_the_box_below(opened: Opened) -> None:
    """The hit and its truth lie in one another."""
    page = street_page(opened)
    settle(page)
    canvas = page.locator("canvas")
    page.evaluate("points.update(scenes.points.objects, 0)")
    settle(page)
    box = canvas.bounding_box()
    assert box is not None
    middle: Any = {"x": box["width"] / 2, "y": box["height"] / 2}
    page.evaluate("points.camera.fly = () => {}")
    canvas.click(position=middle)
    page.wait_for_timeout(600)
    canvas.click(position=middle)
    assert sorted(page.evaluate("chosen")) == [0, 7]


def test_update_hides_objects(opened: Opened) -> None:
    page = street_page(opened)
    settle(page)
    before = pixels(page.locator("canvas"))
    page.evaluate("points.update(scenes.points.objects.filter(object => object.outcome !== 'background'))")
    settle(page)
    after = pixels(page.locator("canvas"))
    vermilion = np.array([0xCC, 0x33, 0x00])

    def count(image: NDArray[np.uint8]) -> int:
        return int((np.abs(image.astype(int) - vermilion).max(-1) < 12).sum())

    assert count(before) > 20
    assert count(after) == 0


def test_indices_are_those_of_the_scene_and_the_origin_is_subtracted(opened: Opened) -> None:
    xyz, objects = street(FEW)
    shift = (2000.0, -900.0, 30.0)
    for thing in objects:
        thing["cuboid"][:3] = [a + b for a, b in zip(thing["cuboid"][:3], shift, strict=True)]
    scene = points_scene(xyz + shift, objects, shift)
    page = opened(points=scene)
    page.evaluate("points.update([scenes.points.objects[5]], 5)")
    settle(page)
    assert page.evaluate("points.camera.target") == pytest.approx([-18, -6, -1], abs=1e-6)


def test_one_frame_for_many_changes_and_none_at_rest(opened: Opened) -> None:
    page = street_page(opened)
    settle(page)
    frames = "Number(document.querySelector('.points-view').dataset.frames)"
    before = page.evaluate(frames)
    page.evaluate("for (let i = 0; i < 50; i++) points.update(scenes.points.objects.slice(i % 3))")
    settle(page)
    assert page.evaluate(frames) == before + 1


def test_touch_turns_with_one_finger_and_zooms_with_two(opened: Opened) -> None:
    page = street_page(opened, has_touch=True)
    settle(page)
    camera = "[points.camera.azimuth, points.camera.distance]"
    first = page.evaluate(camera)
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *spots: tuple[int, int]) -> None:
        points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(spots)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (300, 200))
    touch("touchMove", (350, 200))
    touch("touchEnd")
    page.wait_for_function(f"() => points.camera.azimuth !== {json.dumps(first[0])}")
    turned = page.evaluate(camera)
    assert turned[1] == first[1]
    touch("touchStart", (300, 200), (340, 200))
    touch("touchMove", (260, 200), (380, 200))
    touch("touchEnd")
    page.wait_for_function(f"() => points.camera.distance < {0.6 * first[1]}")
    assert page.evaluate("points.camera.azimuth") == turned[0]


def test_high_density_screens_get_all_their_pixels(opened: Opened) -> None:
    page = street_page(opened, device_scale_factor=2)
    settle(page)
    assert page.evaluate("(c => c.width / c.clientWidth)(document.querySelector('canvas'))") == pytest.approx(2, 0.01)


def test_lost_context_shows_the_image_and_opens_again(opened: Opened) -> None:
    page = street_page(opened)
    page.evaluate(
        "document.querySelector('canvas').getContext('webgl2').getExtension('WEBGL_lose_context').loseContext()"
    )
    page.get_by_text("The browser has closed this 3D view.").wait_for()
    assert page.get_by_alt_text("the sweep from above").is_visible()
    page.get_by_role("button", name="open the 3D view again").click()
    assert colours(page) > 100


def test_without_webgl_there_is_an_image_and_a_sentence(opened: Opened) -> None:
    page = street_page(opened)
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page.reload()
    assert "This browser has no WebGL2." in page.locator(".points-view").inner_text()
    assert page.get_by_alt_text("the sweep from above").is_visible()
    page.evaluate("points.update([]), points.destroy()")
    assert page.locator(".points-view").count() == 0


def test_contexts_are_released(opened: Opened) -> None:
    """A browser closes the first of more than 16 views; those that were destroyed do not count."""
    page = street_page(opened)
    page.evaluate(
        """() => {
          for (let i = 0; i < 18; i++) mountPoints(document.body, scenes.points, []).destroy();
        }"""
    )
    assert colours(page) > 100
    assert page.get_by_text("The browser has closed this 3D view.").count() == 0


def test_empty_sweep_shows_its_boxes(opened: Opened) -> None:
    _, objects = street(FEW)
    page = opened(points=points_scene(np.zeros((0, 3)), objects))
    assert colours(page) > 10


def test_scripts_are_safe_to_include_in_a_template() -> None:
    for path in sorted((TEMPLATES / "report").glob("*.[jc]s*")):
        text = path.read_text(encoding="utf-8")
        assert not any(mark in text for mark in ("{{", "{%", "{#", "</")), path.name
