"""The page, in a real browser, over a real service with emoji."""

import base64
import io
import threading
from datetime import date

import pytest
from browser import SCREENSHOTS, axe, chromium, served, violations
from PIL import Image

from omhash import Client, Collection
from omhash.datasets import emoji
from omhash.encoders import Suite
from omhash.measures import Measures, mean_average_precision

pytest.importorskip("selenium")

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

PER_GROUP = 90


def with_picture(item):
    content = base64.b64encode(item.parts["image"]).decode()
    return {**item.payload, "picture": f"data:image/webp;base64,{content}"}


def round_of(group, suite):
    items = group.items[:: max(1, len(group.items) // PER_GROUP)]
    return {**suite.round(items), "payloads": [with_picture(item) for item in items]}


def learned_and_measured(things, path, group, suite):
    """Learn a group like the demonstration, so that its round shows how well it finds."""
    asked = suite.round(group.queries)
    del asked["payloads"]
    before = mean_average_precision(things, **asked)
    things.ingest(**round_of(group, suite), round_id=group.group)
    Measures(path).add(group.group, before, mean_average_precision(things, **asked))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    suite = Suite.default()
    path = folder / "emoji.omhash"
    with Collection.create(path, encoders=suite) as things:
        for group in emoji.rounds()[:4]:
            learned_and_measured(things, path, group, suite)
    Collection.create(folder / "nothing.omhash", encoders=suite).close()
    Collection.create(folder / "plain.omhash", modalities={"sound": 4}).close()
    return folder


@pytest.fixture(scope="module")
def service(folder):
    with served(folder) as (_, address):
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = chromium(tmp_path_factory.mktemp("profile"))
    SCREENSHOTS.mkdir(exist_ok=True)
    yield driver
    driver.quit()


@pytest.fixture
def page(browser, service):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    size(browser, 1280, 900)
    return Page(browser).load(f"{service}#emoji")


def size(driver, width, height):
    """Of the view, where a window cannot be as narrow as a telephone."""
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )


class Page:
    def __init__(self, driver):
        self.driver = driver

    def load(self, address):
        self.driver.get("about:blank")
        self.driver.get(address)
        self.until(lambda: self("#found").text not in ("", "Loading…"))
        return self

    def __call__(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def until(self, condition, seconds=20):
        return WebDriverWait(self.driver, seconds, ignored_exceptions=(Exception,)).until(
            lambda _: condition()
        )

    def titles(self):
        return self.texts("#cards .title")

    def kinds(self):
        return self.texts("#cards .kinds")

    def texts(self, selector):
        # All at once: the page may change between two questions.
        return self.driver.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText)",
            selector,
        )

    def found(self):
        self.until(lambda: "ms" in self("#count").text)
        return self.titles()

    def search(self, text):
        self("#text").clear()
        self("#text").send_keys(text, Keys.ENTER)
        self.until(lambda: text in self("#found").text)
        return self.found()

    def slide(self, selector, key, times):
        for _ in range(times):
            self(selector).send_keys(key)

    def shot(self, name):
        height = self.driver.execute_script("return document.documentElement.scrollHeight")
        width = self.driver.execute_script("return window.innerWidth")
        size(self.driver, width, max(height, 700))
        self.driver.save_screenshot(str(SCREENSHOTS / f"{name}.png"))

    def top(self, name):
        """What is seen without scrolling, small enough to be kept."""
        seen = Image.open(io.BytesIO(self.driver.get_screenshot_as_png()))
        seen.convert("RGB").save(SCREENSHOTS / f"{name}.webp", quality=85, method=6)

    def log(self):
        return [
            one["message"] for one in self.driver.get_log("browser") if one["level"] == "SEVERE"
        ]


@pytest.fixture
def picture_file(tmp_path):
    path = tmp_path / "asked.webp"
    path.write_bytes(emoji.picture("1f981"))  # a lion
    return path


def choose(page, path):
    page("#file").send_keys(str(path))
    page.until(lambda: page("#preview").is_displayed())


def test_words_find_what_they_say(page):
    titles = page.search("dog")
    assert len(titles) == 24
    assert "dog" in titles[0]
    assert page("#asked").is_displayed()
    assert len(page.all("#code .bit")) == 64
    assert [one.text for one in page.all("#weights .percent")] == ["100 %"]
    assert all("distance" in one.text for one in page.all("#cards .apart"))
    page.top("page")
    page.shot("words")
    assert page.log() == []


def test_a_picture_finds_things_like_it(page, picture_file):
    choose(page, picture_file)
    assert page.found()
    assert sum("animals & nature" in one for one in page.kinds()) > 12
    assert page("#found").text == "Like the picture"
    page.shot("picture")


def test_a_picture_and_words_count_as_the_slider_says(page, picture_file):
    choose(page, picture_file)
    by_picture = page.found()
    page("#text").send_keys("sad face", Keys.ENTER)
    page.until(lambda: "and the picture" in page("#found").text)
    page.found()
    shares = [int(one.text.split()[0]) for one in page.all("#weights .percent")]
    assert len(shares) == 2
    assert 99 <= sum(shares) <= 101
    page.shot("both")
    page.slide("#emphasis", Keys.ARROW_LEFT, 10)
    page.until(lambda: len(page.all("#weights .percent")) == 1)
    assert page("#emphasis").get_attribute("aria-valuetext") == "only the picture"
    assert page.titles() == by_picture
    page.slide("#emphasis", Keys.ARROW_RIGHT, 20)
    page.until(lambda: page("#weights .of").text == "words")
    assert "sad" in " ".join(page.titles()[:5]) or "frown" in " ".join(page.titles()[:5])


def test_the_very_one_comes_first_unless_only_its_kind_is_wanted(page, picture_file):
    asked = emoji.rounds()[2].items[9]  # among equals, the first to arrive would come first
    picture_file.write_bytes(emoji.picture(asked.key))
    choose(page, picture_file)
    assert page.found()[0] == asked.payload["name"]
    page.slide("#detail", Keys.ARROW_LEFT, 10)
    assert page("#detail").get_attribute("aria-valuetext") == "the same kind"
    page.until(lambda: page.titles()[0] != asked.payload["name"])
    page.slide("#detail", Keys.ARROW_RIGHT, 10)
    assert page("#detail").get_attribute("aria-valuetext") == "this very one"
    page.until(lambda: page.titles()[0] == asked.payload["name"])


def test_a_click_finds_others_like_it(page):
    first = page.titles()[0]
    page("#cards .card").click()
    page.until(lambda: page("#found").text == f"Like “{first}”")
    titles = page.found()
    assert first not in titles
    assert "smileys & emotion" in page.kinds()[0]


def test_everything_can_be_done_with_the_keyboard(page):
    reached = []
    for _ in range(12):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        active = page.driver.switch_to.active_element
        reached.append(active.get_attribute("id") or active.get_attribute("class"))
    assert [name for name in reached if name in ("collection", "file", "text", "go", "detail")] == [
        "collection",
        "file",
        "text",
        "go",
        "detail",
    ]
    assert "card" in reached


def test_filters_keep_to_their_categories(page):
    page.search("face")
    page("#category").send_keys("animal mammal", Keys.ENTER)
    page.until(lambda: page.kinds() and all("animal mammal" in one for one in page.kinds()))
    page("#category").send_keys("no such thing", Keys.ENTER)
    page.until(lambda: "no category" in page("#notice").text)
    page.shot("filter")
    page("#chosen .chip").click()
    page.until(lambda: not all("animal mammal" in one for one in page.kinds()))


def test_a_picture_that_is_none_is_refused_in_words(page, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture at all")
    choose(page, broken)
    page.until(lambda: "cannot be read" in page("#notice").text)
    page.shot("error")


def test_a_pasted_and_a_dropped_picture_are_searched_by(page):
    encoded = base64.b64encode(emoji.picture("1f981")).decode()
    for event, carrier, name in (
        ("paste", "clipboardData", "ClipboardEvent"),
        ("drop", "dataTransfer", "DragEvent"),
    ):
        page.driver.execute_script(
            "const bytes = Uint8Array.from(atob(arguments[0]), (one) => one.charCodeAt(0));"
            "const data = new DataTransfer();"
            "data.items.add(new File([bytes], 'lion.webp', {type: 'image/webp'}));"
            f"document.body.dispatchEvent(new {name}('{event}',"
            f"{{{carrier}: data, bubbles: true, cancelable: true}}));",
            encoded,
        )
        page.until(lambda: page("#found").text == "Like the picture")
        assert sum("animals & nature" in one for one in page.kinds()) > 12
        page("#unpick").click()
        page.until(lambda: page("#found").text == "Look around")


def test_a_round_is_shown_while_it_runs(page, service):
    group = emoji.rounds()[4]
    items = group.items[::2]
    before = len(page.all("#rounds .entry"))
    seen = []

    def upload():
        with Client(service, "emoji") as client:
            pictures = page_pictures(items)
            client.ingest_raw(pictures, round_id=f"{group.group} {date(2026, 11, 19)}")

    def page_pictures(items):
        return [
            {
                "key": item.key,
                "picture": write(item),
                "text": item.parts["text"],
                "categories": list(item.categories),
                "payload": item.payload,
            }
            for item in items
        ]

    def write(item):
        path = SCREENSHOTS / f"{item.key}.webp"
        path.write_bytes(item.parts["image"])
        return path

    thread = threading.Thread(target=upload)
    thread.start()
    page.until(lambda: page("#running").is_displayed() and "of" in page("#running").text)
    seen.append(page("#running").text)
    page.shot("live")
    page.until(lambda: len(page.all("#rounds .entry")) == before + 1, seconds=60)
    thread.join()
    for item in items:
        (SCREENSHOTS / f"{item.key}.webp").unlink()
    page.until(lambda: not page("#running").is_displayed())
    assert group.group in seen[0]
    page.until(lambda: "MAP" in page("#rounds .entry").text)
    entry = page("#rounds .entry").text
    assert f"+ {len(items)} items" in entry
    assert "new categories" in entry


def test_a_killed_server_is_told_and_comes_back(browser, folder):
    with served(folder) as (process, address):
        port = int(address.rsplit(":", 1)[1].strip("/"))
        page = Page(browser).load(f"{address}#emoji")
        page.search("dog")
        process.kill()
        process.wait()
        page.until(lambda: "does not answer" in page("#notice").text)
        assert page("#live").text == "not connected"
        page.shot("killed")
    with served(folder, port):
        page.until(lambda: page("#live").text == "live", seconds=30)
        page.until(lambda: not page("#notice").is_displayed())
        assert "dog" in " ".join(page.search("dog")[:5])


def test_an_empty_collection_says_so(page, service):
    page.load(f"{service}#nothing")
    assert "collection is empty" in page.until(lambda: page("#empty").text)
    assert page("#no-rounds").is_displayed()
    page.shot("empty")
    page.load(f"{service}#plain")
    page.until(lambda: "made of features" in page("#hint").text)
    assert not page("#text").is_enabled()


def test_a_narrow_screen_shows_everything_without_scrolling_sideways(page, service):
    size(page.driver, 360, 740)
    page.load(f"{service}#emoji")
    page.search("happy")
    wide = page.driver.execute_script("return document.documentElement.scrollWidth")
    assert wide <= 360
    page.shot("narrow")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_wrong(page, service, scheme, request):
    source = axe(request.config.cache.mkdir("axe"))
    page.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    page.until(lambda: page.titles())
    assert violations(page.driver, source) == []
    page.search("dog")
    page("#category").send_keys("animal mammal", Keys.ENTER)
    page.until(lambda: page.all("#chosen .chip"))
    page.found()
    assert violations(page.driver, source) == []
    page.shot(scheme)
    page.load(f"{service}#nothing")
    assert violations(page.driver, source) == []
    page.driver.get(f"{service}docs")
    page.until(lambda: page.all(".operation"))
    assert violations(page.driver, source) == []
    page.shot(f"docs-{scheme}")
